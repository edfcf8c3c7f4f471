// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts whose tokens are sent (GShard, Lepikhin et al. 2021, section 3; Switch Transformer, Fedus et al.
// 2022): which tokens an expert gets, as a table of integers; the tokens in the order of their experts; the experts'
// linear layers, on what has arrived; and the weighted sum back. What op/expert.hpp does with a mask of
// tokens * experts * slots numbers and two products, these do with copies of rows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expert.hpp"

namespace tessera::detail {

/// slots[N,E,S], the second input: which token has which slot, of integers, which have no gradient. Samples, experts
/// and slots: loops.
constexpr int add_slot_table(describer& w, const shape& slots, int sample, int expert, int slot) {
    const int table = w.add_operand(operand_kind::input, 1, element::i32);
    w.index(table, slots[0], sample);
    w.index(table, slots[1], expert);
    w.index(table, slots[2], slot);
    w.d.operands[table].differentiable = false;
    return table;
}

} // namespace tessera::detail

namespace tessera::op {

/// Of how many tokens of a sample an expert takes: so many, or so many times its even share, or all that choose it.
struct token_slots_attributes {
    index_t slots = 0; ///< of an expert; 0: `factor` or `all` says it
    index_t top = 1;   ///< experts that a token is sent to
    double factor = 0; ///< times the even share, top * tokens / experts, rounded up
    flag all = false;  ///< as many slots as there are tokens, so that none is ever dropped
    static constexpr attribute_field fields[] = {
        {"slots", 1, 0}, {"top", 1, 1}, number_field("factor"), flag_field("all")};
};
struct keep_top_attributes {
    index_t top = 1;         ///< numbers of a row that stay
    flag normalized = false; ///< those that stay are divided by their sum
    static constexpr attribute_field fields[] = {{"top", 1, 1}, flag_field("normalized")};
};
struct routed_linear_attributes {
    index_t out = 0; ///< features
    static constexpr attribute_field fields[] = {{"out", 1, 1}};
};

/// Slots of an expert for the tokens of a sample; 0 where the attributes leave it none.
constexpr index_t slots_of(const token_slots_attributes& a, index_t tokens, index_t experts) {
    if (a.slots > 0) {
        return a.slots;
    }
    if (a.all) {
        return tokens;
    }
    if (!(a.factor > 0)) {
        return a.slots;
    }
    const double share = a.factor * static_cast<double>(tokens * a.top) / static_cast<double>(experts);
    if (share >= static_cast<double>(tokens)) {
        return tokens; // a token asks an expert for one slot at most
    }
    const auto whole = static_cast<index_t>(share);
    return static_cast<double>(whole) < share ? whole + 1 : whole;
}

/// x[N,T,E] -> y[N,E,S] (int32): in slot s of expert e the number of the token that has it, from 1; 0 in the slots that
/// stay empty, which are an expert's last ones. Who gets which slot is what describe_route() says: a sample is a group,
/// a token wants the experts of its `top` largest numbers, of equal ones the expert with the lower number first; all
/// first choices come before all second ones, in the order of the tokens' positions; who finds no slot left is dropped.
/// Numbers are data, so that any slot may depend on all numbers of its sample, which are read whole; samples and
/// experts may be split. Nothing is differentiated: gradients flow by the gates, see describe_combine_tokens().
constexpr description describe_token_slots(const token_slots_attributes& a, const shape& x) {
    detail::describer w;
    const index_t slots = slots_of(a, x[1], x[2]);
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int e = w.add_loop(loop_name::expert, x[2]);
    const int s = w.add_loop(loop_name::position, slots, true);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], w.everything());
    w.index(input, x[2], w.everything());
    w.d.operands[input].differentiable = false;
    const int output = w.add_operand(operand_kind::output, 0, element::i32);
    w.index(output, x[0], n);
    w.index(output, x[2], e);
    w.index(output, slots, s);
    w.add_nest(w.all_loops(), bit(input), output, reducer::none, 1);
    return w.d;
}

/// x[N,T,E] -> y[N,T,E]: the `top` largest numbers of each row, of equal ones the first, and zeros in place of the
/// others; or their shares in what their sum is. Each shard reads whole rows; samples, positions and columns may be
/// split.
constexpr description describe_keep_top(const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = w.add_loop(loop_name::position, x[1]);
    const int e = w.add_loop(loop_name::expert, x[2]);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], t);
    w.index(input, x[2], w.everything());
    w.d.operands[input].gradient_reads = bit(input);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], t);
    w.index(output, x[2], e);
    w.add_nest(w.all_loops(), bit(input), output, reducer::none, 2);
    return w.d;
}

/// x[N,T,C], slots[N,E,S] -> y[N,E*S,C]: the tokens in the order of their experts, zeros in empty slots. So described,
/// a split of T is a split of a sum, as in describe_gather(): each shard takes the tokens that it has.
///
/// Where tokens are split by samples over p devices and the experts over the same ones, dispatch stays where its tokens
/// are, and what follows moves: every device keeps a p-th of what it has made and sends p-ths to all others, which is
/// the all-to-all of GShard, of N E S C (p - 1) / p elements altogether, whatever the data are. tests/plan/lower/routing.cpp
/// holds that.
constexpr description describe_dispatch_tokens(const shape& x, const shape& slots) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int e = w.add_loop(loop_name::expert, slots[1]);
    const int s = w.add_loop(loop_name::position, slots[2], true);
    const int c = w.add_loop(loop_name::channel, x[2]);
    const int t = w.add_loop(loop_name::reduction, x[1]);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], t);
    w.index(input, x[2], c);
    w.d.operands[input].gathered = true;
    const int table = detail::add_slot_table(w, slots, n, e, s);
    w.d.operands[input].gradient_reads = bit(table);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, slots[1] * slots[2], slot_of_expert(e, s, slots[2]));
    w.index(output, x[2], c);
    w.add_nest(w.all_loops(), bit(input) | bit(table), output, reducer::sum, 0);
    return w.d;
}

/// gates[N,T,E], slots[N,E,S], x[N,E*S,C] -> y[N,T,C]: for every token the sum of what its experts have made, each
/// times the token's gate for that expert; zeros for a token that has been dropped everywhere. A split of `expert`
/// leaves partial sums, which the plan adds up: each device returns what its own experts made. Gradients flow to x and
/// to the gates of the slots that were given.
constexpr description describe_combine_tokens(const shape& gates, const shape& slots, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, gates[0]);
    const int t = w.add_loop(loop_name::position, gates[1]);
    const int c = w.add_loop(loop_name::channel, x[2]);
    const int e = w.add_loop(loop_name::expert, slots[1]);
    const int s = w.add_loop(loop_name::reduction, slots[2], true);
    const int gate = w.add_operand(operand_kind::input, 0);
    w.index(gate, gates[0], n);
    w.index(gate, gates[1], t);
    w.index(gate, gates[2], e);
    const int table = detail::add_slot_table(w, slots, n, e, s);
    const int made = w.add_operand(operand_kind::input, 2);
    w.index(made, gates[0], n);
    w.index(made, x[1], slot_of_expert(e, s, slots[2]));
    w.index(made, x[2], c);
    w.d.operands[gate].gradient_reads = bit(table) | bit(made);
    w.d.operands[made].gradient_reads = bit(table) | bit(gate);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, gates[0], n);
    w.index(output, gates[1], t);
    w.index(output, x[2], c);
    w.add_nest(w.all_loops(), bit(gate) | bit(table) | bit(made), output, reducer::sum, 0);
    return w.d;
}

/// x[N,E*S,I], slots[N,E,S], w[E,O,I] -> y[N,E*S,O]: the rows of expert e times that expert's matrix, and zeros in
/// empty slots, which need not be multiplied: what is counted as work is that of full experts, the most that it can be.
/// A split of `expert` is expert parallelism; a split of `channel` or `reduction` tensor parallelism within experts.
constexpr description describe_routed_linear(const routed_linear_attributes& a, const shape& x, const shape& slots) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int e = w.add_loop(loop_name::expert, slots[1]);
    const int s = w.add_loop(loop_name::position, slots[2], true);
    const int o = w.add_loop(loop_name::channel, a.out);
    const int i = w.add_loop(loop_name::reduction, x[2]);
    const affine row = slot_of_expert(e, s, slots[2]);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], row);
    w.index(input, x[2], i);
    const int table = detail::add_slot_table(w, slots, n, e, s);
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, slots[1], e);
    w.index(weight, a.out, o);
    w.index(weight, x[2], i);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], row);
    w.index(output, a.out, o);
    w.add_product(input, weight, output, bit(table));
    w.d.operands[input].gradient_reads |= bit(table);
    w.d.operands[weight].gradient_reads |= bit(table);
    return w.d;
}

constexpr inferred infer_top(index_t top, const shape& x) {
    const inferred r = detail::infer_rank(x, 3, 3, top);
    return r.refused || top <= x[2]
               ? r
               : detail::refuse(rule::more_choices_than_experts, top, x[2], static_cast<int>(loop_name::expert));
}

constexpr inferred infer_token_slots(const token_slots_attributes& a, const shape& x) {
    const inferred r = infer_top(a.top, x);
    if (r.refused) {
        return r;
    }
    const index_t slots = slots_of(a, x[1], x[2]);
    return slots >= 1 ? inferred{{}, make_shape(x[0], x[2], slots)}
                      : detail::refuse(rule::capacity_below_one, slots, 1, static_cast<int>(loop_name::expert));
}

/// Whether `slots` is a table of the slots of experts for as many samples as `x` has.
constexpr inferred infer_slots(const shape& x, const shape& slots) {
    const inferred r = detail::infer_rank(x, 3, 3);
    if (r.refused) {
        return r;
    }
    if (slots.rank != 3) {
        return detail::refuse(rule::slots_do_not_fit, slots.rank, 3);
    }
    return slots[0] == x[0]
               ? inferred{{}, slots}
               : detail::refuse(rule::slots_do_not_fit, slots[0], x[0], static_cast<int>(loop_name::sample));
}

/// Whether x has a row for each slot as well.
constexpr inferred infer_rows_of_slots(const shape& x, const shape& slots) {
    const inferred r = infer_slots(x, slots);
    const index_t rows = r.refused ? 0 : slots[1] * slots[2];
    return r.refused || x[1] == rows
               ? r
               : detail::refuse(rule::slots_do_not_fit, x[1], rows, static_cast<int>(loop_name::position));
}

constexpr inferred infer_dispatch_tokens(const shape& x, const shape& slots) {
    const inferred r = infer_slots(x, slots);
    return r.refused ? r : inferred{{}, make_shape(x[0], slots[1] * slots[2], x[2])};
}

constexpr inferred infer_combine_tokens(const shape& gates, const shape& slots, const shape& x) {
    const inferred r = infer_slots(gates, slots);
    if (r.refused) {
        return r;
    }
    if (gates[2] != slots[1]) {
        return detail::refuse(rule::slots_do_not_fit, gates[2], slots[1], static_cast<int>(loop_name::expert));
    }
    const inferred rows = infer_rows_of_slots(x, slots);
    return rows.refused ? rows : inferred{{}, make_shape(x[0], gates[1], x[2])};
}

constexpr inferred infer_routed_linear(const routed_linear_attributes& a, const shape& x, const shape& slots) {
    const inferred r = infer_rows_of_slots(x, slots);
    if (r.refused) {
        return r;
    }
    return a.out >= 1 ? inferred{{}, make_shape(x[0], x[1], a.out)} : detail::refuse(rule::extent_is_zero, a.out, 1);
}

inline constexpr op_record token_slots_record{
    .name = "token_slots",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_token_slots(a.as<token_slots_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_token_slots(a.as<token_slots_attributes>(), *x); },
    .own = list_of<token_slots_attributes>(),
};
inline constexpr op_record keep_top_record{
    .name = "keep_top",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_top(a.as<keep_top_attributes>().top, *x); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_keep_top(*x); },
    .own = list_of<keep_top_attributes>(),
};
/// The integers of a table of slots: the tokens of the first input, from 1, and 0.
constexpr index_t tokens_in_slots(const op_attributes&, const shape* x, int slot) {
    return slot == 1 ? x[0][1] + 1 : 0;
}
inline constexpr op_record dispatch_tokens_record{
    .name = "dispatch_tokens",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_dispatch_tokens(x[0], x[1]); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_dispatch_tokens(x[0], x[1]); },
    .inputs = 2,
    .index_bound = function_of(tokens_in_slots),
};
inline constexpr op_record combine_tokens_record{
    .name = "combine_tokens",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_combine_tokens(x[0], x[1], x[2]); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_combine_tokens(x[0], x[1], x[2]); },
    .inputs = 3,
    .index_bound = function_of(tokens_in_slots),
};
inline constexpr op_record routed_linear_record{
    .name = "routed_linear",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_routed_linear(a.as<routed_linear_attributes>(), x[0], x[1]); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_routed_linear(a.as<routed_linear_attributes>(), x[0], x[1]); },
    .inputs = 2,
    .facts = {.work = work_kind::matrix_product},
    // Which token has a slot does not matter here, only whether one has.
    .index_bound = [](const op_attributes&, const shape*, int slot) { return slot == 1 ? index_t{2} : 0; },
    .own = list_of<routed_linear_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::token_slots{&op::token_slots_record};
inline constexpr op_kind op_kind::keep_top{&op::keep_top_record};
inline constexpr op_kind op_kind::dispatch_tokens{&op::dispatch_tokens_record};
inline constexpr op_kind op_kind::combine_tokens{&op::combine_tokens_record};
inline constexpr op_kind op_kind::routed_linear{&op::routed_linear_record};

/// token_slots<top<k>, capacity<slots>>, or capacity_factor<f>, or no_drop: gates [N,T,Experts] -> the tokens of every
/// expert, integers [N,Experts,Slots].
template <class... Options>
struct token_slots : detail::layer_with<op_kind::token_slots, op::token_slots_attributes, Options...> {};
/// keep_top<top<k>, normalized>: [N,T,E], zeros in place of all but the k largest numbers of each row.
template <class... Options>
struct keep_top : detail::layer_with<op_kind::keep_top, op::keep_top_attributes, Options...> {};
/// x[N,T,C], slots -> [N,Experts*Slots,C]: tokens in the order of their experts.
struct dispatch_tokens : detail::simple_layer<op_kind::dispatch_tokens> {};
/// gates[N,T,Experts], slots, x[N,Experts*Slots,C] -> [N,T,C]: the weighted sum back.
struct combine_tokens : detail::simple_layer<op_kind::combine_tokens> {};
/// routed_linear<output features, frozen>: x[N,Experts*Slots,I], slots -> [N,Experts*Slots,Out], each expert with
/// weights of its own, for the rows that are filled.
template <index_t Out, class... Options>
struct routed_linear {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::routed_linear, Options...>(op::routed_linear_attributes{.out = Out});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
