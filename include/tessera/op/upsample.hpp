// SPDX-License-Identifier: Apache-2.0
// Images made larger by whole factors: each pixel repeated, or pixels between their neighbours.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct upsample_attributes {
    index_t factor[2] = {1, 1}; ///< of height and width
    static constexpr attribute_field fields[] = {{"factor", 2, 1}};
};

/// What is made along one dimension of at most two places of the input.
struct linear_taps {
    index_t at[2]{};
    double weight[2]{};
};

/// Index `out` of an output that is `factor` times as long as its input, between the centres of the input's pixels;
/// beyond the outermost centres these alone. As PyTorch's interpolate has it with align_corners = false: the place is
/// (out + 1/2) / factor - 1/2.
constexpr linear_taps taps_of(index_t out, index_t factor, index_t extent) {
    const index_t phase =
        2 * (out % factor) + 1 - factor; // of 2 * factor: where it is from the centre of its own pixel
    const index_t own = out / factor;
    const index_t first = phase < 0 ? own - 1 : own;
    const double part = static_cast<double>(phase < 0 ? phase + 2 * factor : phase) / static_cast<double>(2 * factor);
    linear_taps taps;
    taps.at[0] = first < 0 ? 0 : first;
    taps.at[1] = first + 1 < extent ? first + 1 : extent - 1;
    taps.weight[0] = 1 - part;
    taps.weight[1] = part;
    return taps;
}

constexpr shape upsampled(const upsample_attributes& a, shape x) {
    x.extent[2] *= a.factor[0];
    x.extent[3] *= a.factor[1];
    return x;
}

constexpr inferred infer_upsample(const upsample_attributes& a, const shape& x) {
    if (x.rank != 4) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
    }
    for (int d = 0; d < 2; ++d) {
        const auto name = static_cast<int>(d == 0 ? loop_name::height : loop_name::width);
        if (a.factor[d] < 1) {
            return detail::refuse(rule::extent_is_zero, a.factor[d], 1, name);
        }
        if (a.factor[d] > INT32_MAX) {
            return detail::refuse(rule::extent_too_large, a.factor[d], INT32_MAX, name);
        }
    }
    return {{}, upsampled(a, x)};
}

/// Loops over the input's pixels and, inside each, over the pixels that are made around it: the output's index is
/// factor * h + r. A shard of rows reads its rows; `linear`: and one more at each end, as the places between two
/// centres need both.
constexpr description describe_upsample(const upsample_attributes& a, const shape& x, bool linear) {
    const shape y = upsampled(a, x);
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int c = w.add_loop(loop_name::channel, x[1]);
    const int pixel[] = {w.add_loop(loop_name::height, x[2]), w.add_loop(loop_name::width, x[3])};
    const int phase[] = {w.add_loop(loop_name::window_height, a.factor[0], true),
                         w.add_loop(loop_name::window_width, a.factor[1], true)};
    const int input = w.add_operand(operand_kind::input, 0);
    const int output = w.add_operand(operand_kind::output, 0);
    for (const int o : {input, output}) {
        w.index(o, x[0], n);
        w.index(o, x[1], c);
    }
    constexpr loop_name taps[] = {loop_name::tap_height, loop_name::tap_width};
    for (int d = 0; d < 2; ++d) {
        affine from = w.at(pixel[d]);
        if (linear && a.factor[d] > 1) {
            from.terms.push_back({w.add_loop(taps[d], 3, true), 1});
            from.offset = -1;
        }
        w.index(input, x[2 + d], from);
        affine to = w.at(pixel[d], a.factor[d]);
        to.terms.push_back({phase[d], 1});
        w.index(output, y[2 + d], to);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, linear ? reducer::sum : reducer::none, linear ? 1 : 0);
    return w.d;
}

inline constexpr op_record upsample_nearest_record{
    .name = "upsample_nearest",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_upsample(a.as<upsample_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_upsample(a.as<upsample_attributes>(), *x, false); },
    .own = list_of<upsample_attributes>(),
};
inline constexpr op_record upsample_bilinear_record{
    .name = "upsample_bilinear",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_upsample(a.as<upsample_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_upsample(a.as<upsample_attributes>(), *x, true); },
    .own = list_of<upsample_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::upsample_nearest{&op::upsample_nearest_record};
inline constexpr op_kind op_kind::upsample_bilinear{&op::upsample_bilinear_record};

/// upsample_nearest<2>: [N,C,H,W] -> [N,C,2H,2W], each pixel repeated; upsample_nearest<1, 3>: along the width alone.
template <index_t Height, index_t Width = Height>
struct upsample_nearest {
    static constexpr op_attributes attributes =
        attributes_of(op_kind::upsample_nearest, op::upsample_attributes{{Height, Width}});
};
/// upsample_bilinear<2>: the same with pixels between their neighbours, as torch.nn.functional.interpolate makes them
/// (align_corners = False).
template <index_t Height, index_t Width = Height>
struct upsample_bilinear {
    static constexpr op_attributes attributes =
        attributes_of(op_kind::upsample_bilinear, op::upsample_attributes{{Height, Width}});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
