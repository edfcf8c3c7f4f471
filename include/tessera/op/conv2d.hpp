// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution (cross-correlation, as every framework has it): x[N,C,H,W], w[O,C/groups,R,S], b[O] ->
// y[N,O,H',W'].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/window.hpp"

namespace tessera::op {

struct conv2d_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side
    index_t dilation[2] = {1, 1}; ///< height, width
    index_t out = 0;              ///< output channels
    index_t groups = 1;           ///< input and output channels are divided in this many
    flag bias = false;            ///< adds one number per output channel
    static constexpr attribute_field fields[] = {{"window", 2, 1},   {"stride", 2, 1}, {"padding", 2},
                                                 {"dilation", 2, 1}, {"out", 1, 1},    {"groups", 1, 1},
                                                 flag_field("bias")};
};

/// What convolutions of images and of volumes have behind their windows.
struct convolution_channels {
    index_t out = 0;
    index_t groups = 1;
    bool bias = false;
};

/// Weights [out, channels of a group, window].
constexpr description describe_convolution(const windows& in, const convolution_channels& a, const shape& x) {
    const index_t in_per_group = x[1] / a.groups;
    const index_t out_per_group = a.out / a.groups;
    detail::describer w;
    window_loops at;
    const int n = w.add_loop(loop_name::sample, x[0]);
    int g = -1;
    if (a.groups > 1) {
        g = w.add_loop(loop_name::channel, a.groups);
    }
    const int o = w.add_loop(a.groups > 1 ? loop_name::group_channel : loop_name::channel, out_per_group);
    at.add_output(w, in, x);
    const int i = w.add_loop(loop_name::reduction, in_per_group);
    at.add_window(w, in);
    affine out_channel = w.at(o);
    affine in_channel = w.at(i);
    if (g >= 0) {
        out_channel.terms.push_back({g, out_per_group});
        in_channel.terms.push_back({g, in_per_group});
    }

    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], in_channel);
    at.index_input(w, in, x, input);
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, a.out, out_channel);
    w.index(weight, in_per_group, i);
    for (int d = 0; d < in.dimensions; ++d) {
        w.index(weight, in.window[d], at.window[d]);
    }
    const std::uint32_t bias = w.add_bias(a.bias, a.out, out_channel);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, a.out, out_channel);
    at.index_output(w, in, output);
    w.add_product(input, weight, output, bias);
    return w.d;
}

constexpr inferred infer_convolution(const windows& in, const convolution_channels& a, const shape& x) {
    inferred r = infer_window(in, x);
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

/// The record of a convolution whose own attributes are Own.
template <class Own>
constexpr op_record convolution_record(const char* name) {
    return {
        .name = name,
        .infer =
            [](const op_attributes& all, const shape* x, int) {
                const Own a = all.as<Own>();
                return infer_convolution(windows_of(a), {a.out, a.groups, a.bias}, *x);
            },
        .describe =
            [](const op_attributes& all, const shape* x, int) {
                const Own a = all.as<Own>();
                return describe_convolution(windows_of(a), {a.out, a.groups, a.bias}, *x);
            },
        .facts = {.work = work_kind::convolution},
        .own = list_of<Own>(),
    };
}

inline constexpr op_record conv2d_record = convolution_record<conv2d_attributes>("conv2d");

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::conv2d{&op::conv2d_record};

/// conv2d<output channels, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias, frozen>: [N,C,H,W] ->
/// [N,Out,H',W'].
template <index_t Out, class... Options>
struct conv2d {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::conv2d, Options...>(op::conv2d_attributes{.out = Out, .bias = true});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
