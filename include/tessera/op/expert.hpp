// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in the dense form of GShard (Lepikhin et al. 2021, section 2.2): which slot of which expert a
// token gets, as a tensor that products of activations dispatch and combine with; and the experts' linear layers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

struct route_attributes {
    index_t slots = 0;     ///< capacity: those of an expert for the tokens of a sample
    index_t top = 1;       ///< experts that a token is sent to
    flag weighted = false; ///< the result holds the tokens' gates instead of ones
    static constexpr attribute_field fields[] = {{"slots", 1, 1}, {"top", 1, 1}, flag_field("weighted")};
};
struct expert_linear_attributes {
    index_t out = 0;    ///< features
    index_t groups = 1; ///< experts
    static constexpr attribute_field fields[] = {{"out", 1, 1}, {"groups", 1, 1}};
};

/// The index of an expert's slot among all slots.
constexpr affine slot_of_expert(int expert, int slot, index_t slots) {
    affine a = detail::describer::at(slot);
    a.terms.push_back({expert, slots});
    return a;
}

/// gates[N,T,E] -> y[N,T,E*S]: element (n, t, e*S + s) is 1 (or the gate, where weighted) if token t of sample n has
/// slot s of expert e, else 0. A sample is a group of GShard's: its tokens compete for the slots of the experts among
/// themselves alone, all first choices before all second ones and so on, in the order of their positions; those without
/// a slot are dropped. Equal gates: the expert with the lower number first. Gates are data, so that a row of the result
/// may depend on all of its sample's gates: it reads them all (the whole extent), and samples, positions and experts
/// may be split. Gradients flow to the gates of the slots that were given; the mask of ones has none.
constexpr description describe_route(const route_attributes& a, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = w.add_loop(loop_name::position, x[1]);
    const int e = w.add_loop(loop_name::expert, x[2]);
    const int s = w.add_loop(loop_name::channel, a.slots, true);
    const int gates = w.add_operand(operand_kind::input, 0);
    w.index(gates, x[0], n);
    w.index(gates, x[1], w.everything());
    w.index(gates, x[2], w.everything());
    w.d.operands[gates].differentiable = a.weighted;
    w.d.operands[gates].gradient_reads = a.weighted ? bit(gates) : 0;
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], t);
    w.index(output, x[2] * a.slots, slot_of_expert(e, s, a.slots));
    w.add_nest(w.all_loops(), bit(gates), output, reducer::none, 1);
    return w.d;
}

/// x[N,E*S,I], w[E,O,I] -> y[N,E*S,O]: the S rows of expert e times that expert's matrix. A split of `expert` is expert
/// parallelism: every device has the weights, and makes the gradients, of its own experts; what was sample-parallel
/// before moves as GShard's all-to-all.
constexpr description describe_expert_linear(const expert_linear_attributes& a, const shape& x) {
    detail::describer w;
    const index_t slots = x[1] / a.groups;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int e = w.add_loop(loop_name::expert, a.groups);
    const int s = w.add_loop(loop_name::position, slots);
    const int o = w.add_loop(loop_name::channel, a.out);
    const int i = w.add_loop(loop_name::reduction, x[2]);
    const affine row = slot_of_expert(e, s, slots);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], row);
    w.index(input, x[2], i);
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, a.groups, e);
    w.index(weight, a.out, o);
    w.index(weight, x[2], i);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], row);
    w.index(output, a.out, o);
    w.add_product(input, weight, output);
    return w.d;
}

constexpr inferred infer_route(const route_attributes& a, const shape& x) {
    const inferred r = detail::infer_rank(x, 3, 3, a.slots < a.top ? a.slots : a.top);
    if (r.refused) {
        return r;
    }
    return a.top <= x[2]
               ? inferred{{}, make_shape(x[0], x[1], x[2] * a.slots)}
               : detail::refuse(rule::more_choices_than_experts, a.top, x[2], static_cast<int>(loop_name::expert));
}

constexpr inferred infer_expert_linear(const expert_linear_attributes& a, const shape& x) {
    if (x.rank != 3) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 3);
    }
    if (a.out < 1 || a.groups < 1) {
        return detail::refuse(rule::extent_is_zero, a.out < 1 ? a.out : a.groups, 1);
    }
    if (x[1] % a.groups != 0) {
        return detail::refuse(rule::experts_do_not_divide_slots, x[1], a.groups, static_cast<int>(loop_name::expert));
    }
    return {{}, make_shape(x[0], x[1], a.out)};
}

inline constexpr op_record route_record{
    .name = "route",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_route(a.as<route_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_route(a.as<route_attributes>(), *x); },
    .own = list_of<route_attributes>(),
};
inline constexpr op_record expert_linear_record{
    .name = "expert_linear",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_expert_linear(a.as<expert_linear_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_expert_linear(a.as<expert_linear_attributes>(), *x); },
    .facts = {.work = work_kind::matrix_product},
    .own = list_of<expert_linear_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::route{&op::route_record};
inline constexpr op_kind op_kind::expert_linear{&op::expert_linear_record};

/// dispatch_mask<slots, top<k>>: gates [N,T,Experts] -> [N,T,Experts*Slots], 1 where a token has a slot of an expert,
/// see op/expert.hpp.
template <index_t Slots, class... Options>
struct dispatch_mask {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::route, Options...>(op::route_attributes{.slots = Slots});
};
/// combine_weights<slots, top<k>>: the same with the token's gate for the expert in place of 1.
template <index_t Slots, class... Options>
struct combine_weights {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::route, Options...>(op::route_attributes{.slots = Slots, .weighted = true});
};
/// expert_linear<experts, output features, frozen>: [N,Experts*Slots,I] -> [N,Experts*Slots,Out], each expert with
/// weights of its own.
template <index_t Experts, index_t Out, class... Options>
struct expert_linear {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::expert_linear, Options...>(
        op::expert_linear_attributes{.out = Out, .groups = Experts});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
