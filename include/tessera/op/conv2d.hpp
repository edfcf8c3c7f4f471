// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution (cross-correlation, as every framework has it): x[N,C,H,W], w[O,C/groups,R,S], b[O] -> y[N,O,H',W'].
#pragma once

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

/// What every operator with a window has, first of its own attributes.
struct window_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side
    index_t dilation[2] = {1, 1}; ///< height, width
};

struct conv2d_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side
    index_t dilation[2] = {1, 1}; ///< height, width
    index_t out = 0;              ///< output channels
    index_t groups = 1;           ///< input and output channels are divided in this many
    flag bias = false;            ///< adds one number per output channel
};

/// The window of an operator that has one.
template <class Own>
constexpr window_attributes window_of(const Own& a) {
    return {{a.window[0], a.window[1]},
            {a.stride[0], a.stride[1]},
            {a.padding[0], a.padding[1]},
            {a.dilation[0], a.dilation[1]}};
}

/// Extent of a window operator's output along dimension `d` (0 height, 1 width) for an input of `extent`; 0 if it does not fit.
constexpr index_t window_output(const window_attributes& a, int d, index_t extent) {
    const index_t reach = (a.window[d] - 1) * a.dilation[d] + 1;
    const index_t padded = extent + 2 * a.padding[d];
    return padded < reach || a.stride[d] < 1 ? 0 : (padded - reach) / a.stride[d] + 1;
}

/// The input index of a window operator: output * stride + window * dilation - padding.
constexpr affine window_index(const window_attributes& a, int d, int output_loop, int window_loop) {
    affine index;
    index.terms.push_back({output_loop, a.stride[d]});
    index.terms.push_back({window_loop, a.dilation[d]});
    index.offset = -a.padding[d];
    return index;
}

constexpr description describe_conv2d(const conv2d_attributes& a, const shape& x) {
    const window_attributes in = window_of(a);
    const index_t in_per_group = x[1] / a.groups;
    const index_t out_per_group = a.out / a.groups;
    const index_t rows = window_output(in, 0, x[2]);
    const index_t columns = window_output(in, 1, x[3]);
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    int g = -1;
    if (a.groups > 1) {
        g = w.add_loop(loop_name::channel, a.groups);
    }
    const int o = w.add_loop(a.groups > 1 ? loop_name::group_channel : loop_name::channel, out_per_group);
    const int h = w.add_loop(loop_name::height, rows);
    const int v = w.add_loop(loop_name::width, columns);
    const int i = w.add_loop(loop_name::reduction, in_per_group);
    const int r = w.add_loop(loop_name::window_height, a.window[0], true);
    const int s = w.add_loop(loop_name::window_width, a.window[1], true);
    affine out_channel = w.at(o);
    affine in_channel = w.at(i);
    if (g >= 0) {
        out_channel.terms.push_back({g, out_per_group});
        in_channel.terms.push_back({g, in_per_group});
    }

    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], in_channel);
    w.index(input, x[2], window_index(in, 0, h, r));
    w.index(input, x[3], window_index(in, 1, v, s));
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, a.out, out_channel);
    w.index(weight, in_per_group, i);
    w.index(weight, a.window[0], r);
    w.index(weight, a.window[1], s);
    const std::uint32_t bias = w.add_bias(a.bias, a.out, out_channel);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, a.out, out_channel);
    w.index(output, rows, h);
    w.index(output, columns, v);
    w.add_product(input, weight, output, bias);
    return w.d;
}

constexpr inferred infer_window(const window_attributes& a, const shape& x) {
    if (x.rank != 4) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
    }
    for (int d = 0; d < 2; ++d) {
        const int name = static_cast<int>(d == 0 ? loop_name::height : loop_name::width);
        if (a.window[d] < 1 || a.stride[d] < 1 || a.dilation[d] < 1 || a.padding[d] < 0) {
            return detail::refuse(rule::extent_is_zero, 0, 1, name);
        }
        const index_t reach = (a.window[d] - 1) * a.dilation[d] + 1;
        if (reach > x[2 + d] + 2 * a.padding[d]) {
            return detail::refuse(rule::kernel_larger_than_padded_input, reach, x[2 + d] + 2 * a.padding[d], name);
        }
        if (a.padding[d] >= reach) {
            return detail::refuse(rule::padding_not_smaller_than_kernel, a.padding[d], reach, name);
        }
    }
    return {{}, make_shape(x[0], x[1], window_output(a, 0, x[2]), window_output(a, 1, x[3]))};
}

constexpr inferred infer_conv2d(const conv2d_attributes& a, const shape& x) {
    inferred r = infer_window(window_of(a), x);
    if (r.refused) {
        return r;
    }
    if (a.out < 1 || a.groups < 1) {
        return detail::refuse(rule::extent_is_zero, a.out < 1 ? a.out : a.groups, 1);
    }
    if (x[1] % a.groups != 0 || a.out % a.groups != 0) {
        return detail::refuse(rule::groups_do_not_divide_channels, x[1] % a.groups != 0 ? x[1] : a.out, a.groups);
    }
    r.output.extent[1] = a.out;
    return r;
}

inline constexpr op_record conv2d_record{
    .name = "conv2d",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_conv2d(a.as<conv2d_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_conv2d(a.as<conv2d_attributes>(), *x); },
    .facts = {.work = work_kind::convolution},
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::conv2d{&op::conv2d_record};

/// conv2d<output channels, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias, frozen>: [N,C,H,W] -> [N,Out,H',W'].
template <index_t Out, class... Options>
struct conv2d {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::conv2d, Options...>(op::conv2d_attributes{.out = Out, .bias = true});
};

} // namespace tessera
