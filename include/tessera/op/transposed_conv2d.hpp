// SPDX-License-Identifier: Apache-2.0
// Transposed convolution (fractionally strided, "up-convolution"): x[N,C,H,W], w[C,O,R,S], b[O] -> y[N,O,H',W'] with
// H' = (H - 1) * stride - 2 * padding + R: what the gradient of a convolution's input is, as an operator (Dumoulin and
// Visin 2016, "A guide to convolution arithmetic", section 4).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/conv2d.hpp"
#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

/// Extent of the output along dimension `d` (0 height, 1 width); less than 1 where padding takes all of it away.
constexpr index_t transposed_output(const windows& a, int d, index_t extent) {
    return (extent - 1) * a.stride[d] - 2 * a.padding[d] + a.window[d];
}

/// The inputs that meet in one output, at most: windows overlap where they are longer than the stride.
constexpr index_t transposed_taps(const windows& a, int d) { return (a.window[d] + a.stride[d] - 1) / a.stride[d]; }

/// Seen from the output. Row p of it meets window row r where p + padding = stride * h + r. With p + padding = stride *
/// q + b, b being less than the stride, that is r = b + stride * k and h = q - k for k = 0, 1, ... The loops are q
/// (height, from the first whole step of the padding), b (window_height) and k (tap_height): the output's index is
/// stride * q + b, so that shards of q write boxes that do not overlap, whatever the window, and read the input with a
/// halo of as many rows as there are taps besides one. Where the stride does not divide the window, some points lie
/// outside of it and add nothing; the FLOPs count them.
constexpr description describe_transposed_conv2d(const conv2d_attributes& a, const shape& x) {
    const windows in = windows_of(a);
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int o = w.add_loop(loop_name::channel, a.out);
    int step[2]{};
    int phase[2]{};
    int tap[2]{};
    index_t out[2]{};
    constexpr loop_name steps[] = {loop_name::height, loop_name::width};
    constexpr loop_name phases[] = {loop_name::window_height, loop_name::window_width};
    constexpr loop_name taps[] = {loop_name::tap_height, loop_name::tap_width};
    for (int d = 0; d < 2; ++d) {
        out[d] = transposed_output(in, d, x[2 + d]);
        const index_t rest = a.padding[d] % a.stride[d];
        step[d] = w.add_loop(steps[d], (out[d] + rest + a.stride[d] - 1) / a.stride[d]);
    }
    for (int d = 0; d < 2; ++d) {
        phase[d] = w.add_loop(phases[d], a.stride[d], true);
    }
    for (int d = 0; d < 2; ++d) {
        tap[d] = w.add_loop(taps[d], transposed_taps(in, d), true);
    }
    const int i = w.add_loop(loop_name::reduction, x[1]);
    const auto pair = [](int first, index_t c1, int second, index_t c2, index_t offset) {
        affine index;
        index.terms.push_back({first, c1});
        index.terms.push_back({second, c2});
        index.offset = offset;
        return index;
    };

    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], i);
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, x[1], i);
    w.index(weight, a.out, o);
    for (int d = 0; d < 2; ++d) {
        w.index(input, x[2 + d], pair(step[d], 1, tap[d], -1, a.padding[d] / a.stride[d]));
        w.index(weight, a.window[d], pair(phase[d], 1, tap[d], a.stride[d], 0));
    }
    const std::uint32_t bias = w.add_bias(a.bias, a.out, w.at(o));
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, a.out, o);
    for (int d = 0; d < 2; ++d) {
        w.index(output, out[d], pair(step[d], a.stride[d], phase[d], 1, -(a.padding[d] % a.stride[d])));
    }
    w.add_product(input, weight, output, bias);
    return w.d;
}

constexpr inferred infer_transposed(const conv2d_attributes& a, const shape& x) {
    if (x.rank != 4) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
    }
    if (a.out < 1) {
        return detail::refuse(rule::extent_is_zero, a.out, 1);
    }
    shape y = make_shape(x[0], a.out, 1, 1);
    for (int d = 0; d < 2; ++d) {
        const int name = static_cast<int>(d == 0 ? loop_name::height : loop_name::width);
        if (a.window[d] < 1 || a.stride[d] < 1 || a.padding[d] < 0) {
            return detail::refuse(rule::extent_is_zero, 0, 1, name);
        }
        if (a.dilation[d] != 1) {
            return detail::refuse(rule::transposed_dilation, a.dilation[d], 1, name);
        }
        if (a.padding[d] >= a.window[d]) {
            return detail::refuse(rule::padding_not_smaller_than_kernel, a.padding[d], a.window[d], name);
        }
        y.extent[2 + d] = transposed_output(windows_of(a), d, x[2 + d]);
        if (y[2 + d] < 1) {
            return detail::refuse(rule::transposed_output_is_empty, y[2 + d], 1, name);
        }
    }
    return a.groups == 1 ? inferred{{}, y} : detail::refuse(rule::groups_do_not_divide_channels, a.groups, 1);
}

inline constexpr op_record transposed_conv2d_record{
    .name = "transposed_conv2d",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_transposed(a.as<conv2d_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_transposed_conv2d(a.as<conv2d_attributes>(), *x); },
    .facts = {.work = work_kind::convolution},
    .own = list_of<conv2d_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::transposed_conv2d{&op::transposed_conv2d_record};

/// transposed_conv2d<output channels, window<>, stride<>, padding<>, no_bias, frozen>: [N,C,H,W] ->
/// [N,Out,(H-1)*stride-2*padding+window,..], the gradient of a convolution's input as an operator (U-Net's
/// up-convolution is window<2>, stride<2>).
template <index_t Out, class... Options>
struct transposed_conv2d {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::transposed_conv2d, Options...>(
        op::conv2d_attributes{.out = Out, .bias = true});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
