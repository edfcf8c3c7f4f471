// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools. A shard of rows or columns has padding on one side alone, and cuDNN pads both sides alike: such a shard is
// copied into a padded array first (or its gradient out of one). So is a shard of the input channels of a grouped convolution,
// whose channels lie apart.
#pragma once

#include "tessera/backend/cuda/compose.hpp"

namespace tessera::cuda::detail {

/// Where the windows of a shard lie in its tile of the input, along rows (0) and columns (1).
struct window_place {
    index_t extent[2] = {}; ///< of the tile
    index_t before[2] = {}; ///< padding above or left of the tile
    index_t after[2] = {};
    bool empty = false; ///< nothing but padding
    /// The padding before the tile, on both sides, makes as many windows: what is beyond the last is not read.
    bool even[2] = {};
    bool is_even() const { return even[0] && even[1]; }
};

inline window_place place_of(const shard_call& s, const box& tile) {
    window_place w;
    const op_attributes& a = s.attributes();
    const loop_name loops[] = {loop_name::height, loop_name::width};
    for (int k = 0; k < 2; ++k) {
        const interval& out = s.call.ranges[s.d.find_loop(loops[k])];
        const index_t first = out.begin * a.stride[k] - a.padding[k];
        const index_t last = (out.end - 1) * a.stride[k] - a.padding[k] + (a.window[k] - 1) * a.dilation[k];
        w.extent[k] = tile.dim[2 + k].size();
        w.before[k] = tile.dim[2 + k].begin - first;
        w.after[k] = last + 1 - tile.dim[2 + k].end;
        w.empty = w.empty || w.extent[k] == 0;
        w.even[k] = w.before[k] >= w.after[k] && w.before[k] - w.after[k] < a.stride[k];
    }
    return w;
}

inline window_place place_of(const shard_call& s) { return place_of(s, s.region_of(s.input())); }

/// The input of a shard's convolution as cuDNN is to see it.
struct convolution_input {
    bool staged = false; ///< in scratch, not the tile itself
    bool padded = false; ///< with its padding
    bool gaps = false;   ///< the tile has channels that the shard does not touch
    strided_box out_of_tile;
    index_t bytes = 0; ///< of the staged array
};

inline convolution convolution_of(const shard_call& s, const window_place& w, convolution_input& x) {
    const op_attributes& a = s.attributes();
    const interval* ranges = s.call.ranges;
    const index_t groups = a.groups > 1 ? ranges[s.d.find_loop(loop_name::channel)].size() : 1;
    const index_t in = ranges[s.d.find_loop(loop_name::reduction)].size();
    const index_t in_apart = s.d.loops[s.d.find_loop(loop_name::reduction)].extent;
    const index_t samples = s.size(s.input(), 0);
    x.gaps = groups > 1 && in != in_apart;
    x.padded = !w.is_even();
    x.staged = x.gaps || x.padded;
    index_t extent[2];
    convolution c;
    for (int k = 0; k < 2; ++k) {
        extent[k] = w.even[k] ? w.extent[k] : w.before[k] + w.extent[k] + w.after[k];
        c.padding[k] = w.even[k] ? to_int(w.before[k]) : 0;
        c.stride[k] = to_int(a.stride[k]);
        c.dilation[k] = to_int(a.dilation[k]);
        c.w[2 + k] = to_int(a.window[k]);
        c.y[2 + k] = to_int(s.size(s.output(), 2 + k));
        c.x[2 + k] = to_int(extent[k]);
    }
    c.groups = to_int(groups);
    c.math = a.math;
    c.x[0] = c.y[0] = to_int(samples);
    c.x[1] = to_int(groups * in);
    c.w[0] = c.y[1] = to_int(s.size(s.output(), 1));
    c.w[1] = to_int(in);
    if (x.staged) {
        const index_t plane = w.extent[0] * w.extent[1];
        const index_t channels = s.size(s.input(), 1);
        const index_t staged_plane = extent[0] * extent[1];
        const index_t counts[] = {samples, groups, in, w.extent[0], w.extent[1]};
        const index_t tile[] = {channels * plane, in_apart * plane, plane, w.extent[1], 1};
        const index_t staged[] = {groups * in * staged_plane, in * staged_plane, staged_plane, extent[1], 1};
        for (int k = 0; k < 5; ++k) {
            x.out_of_tile.count[k] = counts[k];
            x.out_of_tile.from[k] = tile[k];
            x.out_of_tile.to[k] = staged[k];
        }
        x.out_of_tile.to_start = (w.even[0] ? 0 : w.before[0] * extent[1]) + (w.even[1] ? 0 : w.before[1]);
        x.bytes = samples * groups * in * staged_plane * bytes_of(s.type());
    }
    return c;
}

/// The value of the input, staged where it must be.
inline memory_use convolution_value(const shard_call& s, const convolution_input& x) {
    if (!x.staged) {
        return s.value(s.input());
    }
    const memory_use staged = s.to.take(x.bytes);
    if (x.padded) {
        s.to.add(memory_clear{}, {staged});
    }
    s.to.copy(x.out_of_tile, s.value(s.input()), staged, s.type(), true, reducer::none);
    return composer::as_read(staged);
}

inline void add_convolution(const shard_call& s, convolution c, convolution::direction way, memory_use x, memory_use w,
                            memory_use y) {
    c.way = way;
    c = s.algorithms.choose(c);
    std::vector<memory_use> memory{x, w, y};
    if (c.workspace > 0) {
        memory.push_back(s.to.take(c.workspace));
    }
    s.to.add(c, static_cast<std::vector<memory_use>&&>(memory));
}

/// With its bias and the relu after it.
inline void add_activated(const shard_call& s, convolution c, memory_use x, memory_use w, memory_use y) {
    c = s.algorithms.choose(c);
    std::vector<memory_use> memory{x, w, y, s.factor(s.parameter(1))};
    if (c.workspace > 0) {
        memory.push_back(s.to.take(c.workspace));
    }
    s.to.add(activated_convolution{c}, static_cast<std::vector<memory_use>&&>(memory));
}

inline void copy_y(const shard_call& s, int (&y)[4]) {
    for (int k = 0; k < 4; ++k) {
        y[k] = to_int(s.size(s.output(), k));
    }
}

inline void convolution_bias(const shard_call& s) {
    if (s.parameter(1) < 0 || !s.call.first_part) {
        return;
    }
    bias_add b;
    copy_y(s, b.y);
    const memory_use bias = s.value(s.parameter(1));
    if (s.in_bf16()) { // whose bias stays fp32
        kernel_numbers n;
        n.n[0] = s.volume(s.output());
        n.n[1] = b.y[1];
        n.n[2] = index_t{b.y[2]} * b.y[3];
        s.to.launch(kernel_id::add_bias_bf16, {bias, s.value_to(s.output())}, n, n.n[0]);
    } else {
        s.to.add(b, {bias, s.value_to(s.output())});
    }
}

/// The gradient of the weights from x and dy of a convolution.
inline void filter_gradient(const shard_call& s, const convolution& c, memory_use x, memory_use dy) {
    const memory_use dw = s.gradient_to(s.parameter(0));
    const index_t weights = s.volume(s.parameter(0));
    // cuDNN writes the gradient in the type of the activations.
    const memory_use to = s.in_bf16() ? s.to.take(weights * bytes_of(element::bf16)) : dw;
    add_convolution(s, c, convolution::direction::backward_filter, x, to, dy);
    if (s.in_bf16()) {
        kernel_numbers n;
        n.n[0] = weights;
        s.to.launch(kernel_id::widen_bf16, {composer::as_read(to), dw}, n, weights);
    }
}

inline void convolution_bias_gradient(const shard_call& s) {
    if (!s.emits(s.parameter(1))) {
        return;
    }
    const memory_use dy = s.gradient(s.output());
    const memory_use db = s.gradient_to(s.parameter(1));
    if (!s.call.first_part) {
        s.to.add(memory_clear{}, {db});
        return;
    }
    bias_gradient b;
    copy_y(s, b.y);
    if (s.in_bf16()) { // summed in fp32: the sums of dy alone, as of batch norm
        kernel_numbers n;
        n.n[0] = b.y[0];
        n.n[1] = b.y[1];
        n.n[2] = index_t{b.y[2]} * b.y[3];
        n.n[3] = 4;
        s.to.launch_channels(kernel_id::statistics_gradient, {dy, dy, dy}, {dy, dy, db}, n);
        return;
    }
    s.to.add(b, {dy, db});
}

/// The region of the tile of a convolution's input, or of its gradient; an empty one where there is none.
inline box input_tile(const shard_call& s, bool gradient) {
    const int t = gradient ? s.to.what().gradient[s.input()] : s.to.what().value[s.input()];
    return t >= 0 ? s.to.tile_at(t).region : s.region_of(s.input());
}

inline void convolution_forward(const shard_call& s) {
    const window_place w = place_of(s, input_tile(s, false));
    if (w.empty) {
        s.to.add(memory_clear{}, {s.value_to(s.output())});
    } else {
        convolution_input x;
        const convolution c = convolution_of(s, w, x);
        const memory_use from = convolution_value(s, x);
        if (s.to.what().activates) {
            return add_activated(s, c, from, s.factor(s.parameter(0)), s.value_to(s.output()));
        }
        add_convolution(s, c, convolution::direction::forward, from, s.factor(s.parameter(0)), s.value_to(s.output()));
    }
    convolution_bias(s);
    if (s.to.what().activates) { // of a shard that sees nothing but padding
        const memory_use y = s.value_to(s.output());
        s.to.add(activation{op_kind::relu, false, s.volume(s.output()), s.type()}, {composer::as_read(y), y});
    }
}

inline void convolution_backward(const shard_call& s) {
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
            s.to.copy(turned(x.out_of_tile), composer::as_read(to), dx, s.type(), true, reducer::none);
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

// ---- pools -----------------------------------------------------------------------------------------------------------

/// The numbers of the kernels in pool.inl.
inline kernel_numbers pool_numbers(const shard_call& s, const window_place& w) {
    const op_attributes& a = s.attributes();
    kernel_numbers n;
    n.n[0] = s.size(s.output(), 0) * s.size(s.output(), 1);
    for (int k = 0; k < 2; ++k) {
        n.n[1 + k] = w.extent[k];
        n.n[3 + k] = s.size(s.output(), 2 + k);
        n.n[5 + k] = -w.before[k];
        n.n[7 + k] = a.stride[k];
        n.n[9 + k] = a.dilation[k];
        n.n[11 + k] = a.window[k];
    }
    n.n[13] = a.kind == op_kind::max_pool ? 0 : 1;
    n.n[14] = a.count_padding ? 1 : 0;
    return n;
}

inline void pool_forward(const shard_call& s) {
    const window_place w = place_of(s);
    const op_attributes& a = s.attributes();
    bool vendor = w.is_even();
    pooling c;
    c.type = s.type();
    for (int k = 0; k < 2; ++k) {
        vendor = vendor && a.dilation[k] == 1 && w.before[k] < a.window[k];
        c.window[k] = to_int(a.window[k]);
        c.padding[k] = to_int(w.before[k]);
        c.stride[k] = to_int(a.stride[k]);
    }
    if (!vendor) {
        s.to.launch(kernel_id::pool_forward, {s.value(s.input()), s.value_to(s.output())}, pool_numbers(s, w),
                    s.volume(s.output()));
        return;
    }
    for (int k = 0; k < 4; ++k) {
        c.x[k] = to_int(s.size(s.input(), k));
    }
    copy_y(s, c.y);
    c.how = a.kind == op_kind::max_pool ? pooling::mode::maximum
            : a.count_padding           ? pooling::mode::average_with_padding
                                        : pooling::mode::average;
    s.to.add(c, {s.value(s.input()), s.value_to(s.output())});
}

/// Kernels of our own: cuDNN's need the output, which the plan has freed, and do not say which of several maxima they take.
inline void pool_backward(const shard_call& s) {
    const window_place w = place_of(s);
    const memory_use dy = s.gradient(s.output());
    const memory_use dx = s.gradient_to(s.input());
    if (s.attributes().kind == op_kind::max_pool) {
        s.to.launch(kernel_id::pool_maximum_backward, {s.value(s.input()), dy, dx}, pool_numbers(s, w),
                    s.volume(s.input()));
    } else {
        s.to.launch(kernel_id::pool_average_backward, {dy, dx}, pool_numbers(s, w), s.volume(s.input()));
    }
}

/// One window that is the whole tile, scaled from the tile's mean to its part of the plane's.
inline void global_pool_forward(const shard_call& s) {
    const shape& whole_plane = s.d.operands[s.input()].extents;
    pooling c;
    c.type = s.type();
    c.how = pooling::mode::average;
    for (int k = 0; k < 4; ++k) {
        c.x[k] = to_int(s.size(s.input(), k));
        c.y[k] = k < 2 ? c.x[k] : 1;
    }
    c.window[0] = c.x[2];
    c.window[1] = c.x[3];
    c.scale =
        static_cast<float>(static_cast<double>(c.x[2]) * c.x[3] / static_cast<double>(whole_plane[2] * whole_plane[3]));
    s.to.add(c, {s.value(s.input()), s.value_to(s.output())});
}

inline void global_pool_backward(const shard_call& s) {
    const shape& whole_plane = s.d.operands[s.input()].extents;
    kernel_numbers n;
    n.n[0] = s.volume(s.input());
    n.n[1] = s.size(s.input(), 2) * s.size(s.input(), 3);
    n.f[0] = 1 / static_cast<double>(whole_plane[2] * whole_plane[3]);
    s.to.launch(kernel_id::spread, {s.gradient(s.output()), s.gradient_to(s.input())}, n, n.n[0]);
}

} // namespace tessera::cuda::detail
