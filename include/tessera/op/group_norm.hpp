// SPDX-License-Identifier: Apache-2.0
// Group normalization (Wu and He 2018): x[N,C,H,W], gamma[C], beta[C] -> y like x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct group_norm_attributes {
    double epsilon = 1e-5; ///< added to the variance
    index_t groups = 1;    ///< the channels of a sample are divided in this many
    static constexpr attribute_field fields[] = {number_field("epsilon"), {"groups", 1, 1}};
};

/// Nest 0 sums x and x^2 of every group of a sample into statistics[2,N,groups], in double; a split of rows or columns
/// leaves partial sums there. Nest 1 normalizes. The reverse of nest 1 leaves the sums of dy*gamma and of dy*gamma*xhat
/// of every group, and the reverse of nest 0 uses them. A split of channels divides the groups among devices, and needs
/// no sums between them.
constexpr description describe_group_norm(const group_norm_attributes& a, const shape& x) {
    const index_t together = x[1] / a.groups;
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int g = w.add_loop(loop_name::channel, a.groups);
    const int c = w.add_loop(loop_name::group_channel, together);
    const int h = w.add_loop(loop_name::height, x[2]);
    const int v = w.add_loop(loop_name::width, x[3]);
    affine channel = w.at(c);
    channel.terms.push_back({g, together});
    const auto image = [&](int which) {
        w.index(which, x[0], n);
        w.index(which, x[1], channel);
        w.index(which, x[2], h);
        w.index(which, x[3], v);
    };
    const int input = w.add_operand(operand_kind::input, 0);
    image(input);
    const int gamma = w.add_operand(operand_kind::parameter, 0);
    w.index(gamma, x[1], channel);
    const int beta = w.add_operand(operand_kind::parameter, 1);
    w.index(beta, x[1], channel);
    const int statistics = w.add_operand(operand_kind::intermediate, 0, element::f64);
    w.index(statistics, 2, w.everything());
    w.index(statistics, x[0], n);
    w.index(statistics, a.groups, g);
    const int output = w.add_operand(operand_kind::output, 0);
    image(output);
    w.d.operands[input].gradient_reads = bit(input) | bit(statistics) | bit(gamma);
    w.d.operands[gamma].gradient_reads = bit(input) | bit(statistics);
    w.d.operands[statistics].gradient_reads = bit(input) | bit(statistics) | bit(gamma);
    w.add_nest(w.all_loops(), bit(input), statistics, reducer::sum, 3);
    w.add_nest(w.all_loops(), bit(input) | bit(statistics) | bit(gamma) | bit(beta), output, reducer::none, 4);
    return w.d;
}

constexpr inferred infer_group_norm(const group_norm_attributes& a, const shape& x) {
    const inferred r = detail::infer_rank(x, 4, 4, a.groups);
    return r.refused || x[1] % a.groups == 0 ? r : detail::refuse(rule::groups_do_not_divide_channels, x[1], a.groups);
}

inline constexpr op_record group_norm_record{
    .name = "group_norm",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_group_norm(a.as<group_norm_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_group_norm(a.as<group_norm_attributes>(), *x); },
    .initial = {initial_values::ones, initial_values::zeros},
    .own = list_of<group_norm_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::group_norm{&op::group_norm_record};

/// group_norm<groups, frozen>: over the channels of a group and the pixels of an image, [N,C,H,W].
template <index_t Groups, class... Options>
struct group_norm {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::group_norm, Options...>(op::group_norm_attributes{.groups = Groups});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
