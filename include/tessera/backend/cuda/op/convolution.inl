// SPDX-License-Identifier: Apache-2.0
// Bodies of convolution.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/convolution.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE bool windows_fit(const op_attributes& all, const description& d, const interval* ranges,
                                const box& tile) {
    const op::windows a = op::windows_of(all, tile.rank);
    bool fit = tile.rank == 2 + a.dimensions;
    for (int k = 0; k < a.dimensions && fit; ++k) {
        const interval& out = ranges[d.find_loop(op::window_dimension(k, a.dimensions))];
        const index_t first = out.begin * a.stride[k] - a.padding[k];
        const index_t end = (out.end - 1) * a.stride[k] - a.padding[k] + (a.window[k] - 1) * a.dilation[k] + 1;
        const index_t before = tile.dim[2 + k].begin - first;
        const index_t after = end - tile.dim[2 + k].end;
        fit = before >= 0 && before >= after && before - after < a.stride[k];
    }
    return fit;
}

TESSERA_INLINE void copy_staged(const shard_call& s, const convolution_input& x, memory_use from, memory_use to,
                                bool back) {
    for (index_t i = 0; i < x.copies; ++i) {
        strided_box b = x.out_of_tile;
        b.from_start += i * x.tile_apart;
        b.to_start += i * x.staged_apart;
        s.to.copy(back ? turned(b) : b, from, to, s.type(), true, reducer::none);
    }
}

TESSERA_INLINE void set_staging(convolution_input& x, const window_place& w, const index_t* extent, index_t samples,
                                index_t groups, index_t in, index_t in_apart, index_t channels) {
    const int dimensions = w.a.dimensions;
    index_t plane = 1;
    index_t staged_plane = 1;
    int k = 4;
    for (int d = dimensions - 1; d >= 0; --d, --k) {
        x.out_of_tile.count[k] = w.extent[d];
        x.out_of_tile.from[k] = plane;
        x.out_of_tile.to[k] = staged_plane;
        x.out_of_tile.to_start += w.even[d] ? 0 : w.before[d] * staged_plane;
        plane *= w.extent[d];
        staged_plane *= extent[d];
    }
    const auto set = [&](index_t count, index_t tile, index_t staged) {
        x.out_of_tile.count[k] = count;
        x.out_of_tile.from[k] = tile;
        x.out_of_tile.to[k--] = staged;
    };
    const index_t tile_sample = channels * plane;
    const index_t staged_sample = groups * in * staged_plane;
    if (dimensions == 2) {
        set(in, plane, staged_plane);
        set(groups, in_apart * plane, in * staged_plane);
        set(samples, tile_sample, staged_sample);
    } else if (!x.gaps) {
        set(groups * in, plane, staged_plane);
        set(samples, tile_sample, staged_sample);
    } else {
        set(in, plane, staged_plane);
        set(groups, in_apart * plane, in * staged_plane);
        x.copies = samples;
        x.tile_apart = tile_sample;
        x.staged_apart = staged_sample;
    }
}

TESSERA_INLINE convolution convolution_of(const shard_call& s, const window_place& w, convolution_input& x) {
    const op::windows& a = w.a;
    const interval* ranges = s.call.ranges;
    const bool grouped = op::convolution_groups(s.attributes(), 2 + a.dimensions) > 1;
    const index_t groups = grouped ? ranges[s.d.find_loop(loop_name::channel)].size() : 1;
    const index_t in = ranges[s.d.find_loop(loop_name::reduction)].size();
    const index_t in_apart = s.d.loops[s.d.find_loop(loop_name::reduction)].extent;
    const index_t samples = s.size(s.input(), 0);
    x.gaps = groups > 1 && in != in_apart;
    x.padded = !w.is_even();
    x.staged = x.gaps || x.padded;
    index_t extent[op::max_window_dimensions];
    index_t staged_plane = 1;
    convolution c;
    c.set_dimensions(a.dimensions);
    for (int k = 0; k < a.dimensions; ++k) {
        extent[k] = w.even[k] ? w.extent[k] : w.before[k] + w.extent[k] + w.after[k];
        c.padding[k] = w.even[k] ? to_int(w.before[k]) : 0;
        c.stride[k] = to_int(a.stride[k]);
        c.dilation[k] = to_int(a.dilation[k]);
        c.w[2 + k] = to_int(a.window[k]);
        c.y[2 + k] = to_int(s.size(s.output(), 2 + k));
        c.x[2 + k] = to_int(extent[k]);
        staged_plane *= extent[k];
    }
    c.groups = to_int(groups);
    c.math = s.attributes().math;
    c.x[0] = c.y[0] = to_int(samples);
    c.x[1] = to_int(groups * in);
    c.w[0] = c.y[1] = to_int(s.size(s.output(), 1));
    c.w[1] = to_int(in);
    if (x.staged) {
        set_staging(x, w, extent, samples, groups, in, in_apart, s.size(s.input(), 1));
        x.bytes = samples * groups * in * staged_plane * bytes_of(s.type());
    }
    return c;
}

TESSERA_INLINE memory_use convolution_value(const shard_call& s, const convolution_input& x) {
    if (!x.staged) {
        return s.value(s.input());
    }
    const memory_use staged = s.to.take(x.bytes);
    if (x.padded) {
        s.to.add(memory_clear{}, {staged});
    }
    copy_staged(s, x, s.value(s.input()), staged, false);
    return composer::as_read(staged);
}

TESSERA_INLINE bool is_product(const convolution& c, convolution::direction way) {
    index_t plane = 1;
    bool one = c.groups == 1;
    bool strided = false;
    for (int k = 0; k < c.stride.size(); ++k) {
        one = one && c.w[2 + k] == 1 && c.padding[k] == 0;
        strided = strided || c.stride[k] != 1;
        plane *= c.y[2 + k];
    }
    const index_t together = c.math == precision::bf16 ? 8 : c.math == precision::tf32 ? 4 : 1; // 16 bytes of a row
    if (!one || plane % together != 0) {
        return false;
    }
    if (way == convolution::direction::backward_data) {
        return !strided || c.stride.size() == 2;
    }
    return !strided &&
           (way == convolution::direction::forward || volume_of(c.w) * c.x[0] <= volume_of(c.x) + volume_of(c.y));
}

TESSERA_INLINE void add_product_of(const shard_call& s, const convolution& c, convolution::direction way, memory_use x,
                                   memory_use w, memory_use y) {
    const index_t in = c.x[1];
    const index_t out = c.y[1];
    const index_t plane = volume_of(c.y) / (c.y[0] * out);
    matrix_product m;
    m.math = c.math;
    m.result = c.type();
    m.batch = c.x[0];
    m.m = plane;
    if (way == convolution::direction::forward) { // y = w x
        m.n = out;
        m.k = in;
        m.apart[0] = in * plane;
        m.apart[2] = out * plane;
        return add_product(s, m, {x, w, y});
    }
    if (way == convolution::direction::backward_data) { // dx = w^T dy
        m.n = in;
        m.k = out;
        m.transpose_b = true;
        m.apart[0] = out * plane;
        m.apart[2] = in * plane;
        if (volume_of(c.x) == c.x[0] * in * plane) {
            return add_product(s, m, {y, w, x});
        }
        // Of a stride: what the windows see, among zeros.
        const memory_use seen = s.to.take(c.x[0] * in * plane * bytes_of(c.type()));
        add_product(s, m, {y, w, seen});
        strided_box b;
        const index_t count[] = {index_t{c.x[0]} * in, c.y[2], c.y[3]};
        const index_t to[] = {index_t{c.x[2]} * c.x[3], index_t{c.stride[0]} * c.x[3], c.stride[1]};
        index_t from = 1;
        for (int k = 2; k >= 0; --k) {
            b.count[2 + k] = count[k];
            b.from[2 + k] = from;
            b.to[2 + k] = to[k];
            from *= count[k];
        }
        s.to.add(memory_clear{}, {x});
        return s.to.copy(b, composer::as_read(seen), x, s.type(), true, reducer::none);
    }
    // dw = dy x^T of every sample, then their sum.
    const memory_use each = m.batch == 1 ? w : s.to.take(m.batch * in * out * bytes_of(element::f32));
    m.m = in;
    m.n = out;
    m.k = plane;
    m.transpose_a = true;
    m.result = element::f32;
    m.apart[0] = in * plane;
    m.apart[1] = out * plane;
    m.apart[2] = in * out;
    add_product(s, m, {x, y, each});
    if (m.batch == 1) {
        return;
    }
    const kernels::matrix_numbers n{.rows = m.batch, .columns = in * out};
    s.to.launch_as(element::f32, kernels::column_sums, {composer::as_read(each), w}, kernel_numbers(n), n.columns);
}

TESSERA_INLINE void add_convolution(const shard_call& s, convolution c, convolution::direction way, memory_use x,
                                    memory_use w, memory_use y) {
    if (is_product(c, way)) {
        return add_product_of(s, c, way, x, w, y);
    }
    c.way = way;
    c = s.algorithms.choose(c);
    std::vector<memory_use> memory{x, w, y};
    if (c.workspace > 0) {
        memory.push_back(s.to.take(c.workspace));
    }
    s.to.add(c, std::move(memory));
}

TESSERA_INLINE void add_activated(const shard_call& s, convolution c, memory_use x, memory_use w, memory_use y) {
    c = s.algorithms.choose(c);
    std::vector<memory_use> memory{x, w, y, s.factor(s.parameter(1))};
    if (c.workspace > 0) {
        memory.push_back(s.to.take(c.workspace));
    }
    s.to.add(activated_convolution{c}, std::move(memory));
}

TESSERA_INLINE void convolution_bias(const shard_call& s) {
    if (s.parameter(1) < 0 || !s.call.first_part) {
        return;
    }
    bias_add b;
    copy_y(s, b.y);
    const memory_use bias = s.value(s.parameter(1));
    if (s.in_bf16()) { // whose bias stays fp32
        const kernels::bias_numbers n{
            .count = s.volume(s.output()), .channels = b.y[1], .plane = index_t{b.y[2]} * b.y[3]};
        s.to.launch(kernels::add_bias_bf16, {bias, s.value_to(s.output())}, kernel_numbers(n), n.count);
    } else {
        s.to.add(b, {bias, s.value_to(s.output())});
    }
}

TESSERA_INLINE void filter_gradient(const shard_call& s, const convolution& c, memory_use x, memory_use dy) {
    const memory_use dw = s.gradient_to(s.parameter(0));
    if (is_product(c, convolution::direction::backward_filter)) { // whose sums are fp32
        return add_convolution(s, c, convolution::direction::backward_filter, x, dw, dy);
    }
    const index_t weights = s.volume(s.parameter(0));
    // cuDNN writes the gradient in the type of the activations.
    const memory_use to = s.in_bf16() ? s.to.take(weights * bytes_of(element::bf16)) : dw;
    add_convolution(s, c, convolution::direction::backward_filter, x, to, dy);
    if (s.in_bf16()) {
        s.to.launch(kernels::widen_bf16, {composer::as_read(to), dw},
                    kernel_numbers(kernels::count_numbers{.count = weights}), weights);
    }
}

TESSERA_INLINE void convolution_bias_gradient(const shard_call& s) {
    if (!s.emits(s.parameter(1))) {
        return;
    }
    const memory_use dy = s.gradient(s.output());
    const memory_use db = s.gradient_to(s.parameter(1));
    if (!s.call.first_part) {
        s.to.add(memory_clear{}, {db});
        return;
    }
    // The sums of dy alone, as of batch norm.
    int y[4];
    copy_y(s, y);
    const kernels::channel_numbers n{.samples = y[0], .channels = y[1], .plane = index_t{y[2]} * y[3], .wanted = 4};
    s.to.launch_channels(kernels::statistics_gradient, {dy, dy, dy}, {dy, dy, db}, n);
}

TESSERA_INLINE box input_tile(const shard_call& s, bool gradient) {
    const int t = gradient ? s.to.what().compute().gradient[s.input()] : s.to.what().compute().value[s.input()];
    return t >= 0 ? s.to.tile_at(t).region : s.region_of(s.input());
}

TESSERA_INLINE void convolution_forward(const shard_call& s) {
    const window_place w = place_of(s, input_tile(s, false));
    if (w.empty) {
        s.to.add(memory_clear{}, {s.value_to(s.output())});
    } else {
        convolution_input x;
        const convolution c = convolution_of(s, w, x);
        const memory_use from = convolution_value(s, x);
        if (s.to.what().compute().activates) {
            return add_activated(s, c, from, s.factor(s.parameter(0)), s.value_to(s.output()));
        }
        add_convolution(s, c, convolution::direction::forward, from, s.factor(s.parameter(0)), s.value_to(s.output()));
    }
    convolution_bias(s);
    if (s.to.what().compute().activates) { // of a shard that sees nothing but padding
        const memory_use y = s.value_to(s.output());
        s.to.add(activation{activation::function::relu, false, s.volume(s.output()), s.type()},
                 {composer::as_read(y), y});
    }
}

TESSERA_INLINE void convolution_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    convolution_input x;
    if (s.emits(s.input())) {
        const convolution c =
            convolution_of(s, place_of(s, input_tile(s, true)), x); // an empty gradient is not asked for
        const memory_use dx = s.gradient_to(s.input());
        const memory_use to = x.staged ? s.to.take(x.bytes) : dx;
        add_convolution(s, c, convolution::direction::backward_data, to, s.factor(s.parameter(0)), dy);
        if (x.gaps) {
            s.to.add(memory_clear{}, {dx});
        }
        if (x.staged) {
            copy_staged(s, x, composer::as_read(to), dx, true);
        }
    }
    if (s.emits(s.parameter(0))) {
        const window_place w = place_of(s, input_tile(s, false));
        if (w.empty) {
            s.to.add(memory_clear{}, {s.gradient_to(s.parameter(0))});
        } else {
            const convolution c = convolution_of(s, w, x);
            const memory_use from = convolution_value(s, x);
            filter_gradient(s, c, from, dy);
        }
    }
    convolution_bias_gradient(s);
}

TESSERA_INLINE bool convolution_takes_relu(const op_attributes& a, bool first_part) {
    const bool bias =
        a.kind == op_kind::conv3d ? a.as<op::conv3d_attributes>().bias : a.as<op::conv2d_attributes>().bias;
    return bias && first_part;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
