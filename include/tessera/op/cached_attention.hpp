// SPDX-License-Identifier: Apache-2.0
// Causal attention of new positions to those before them, whose keys and values are kept: query[N,P,H*W], key[N,P,G*W],
// value[N,P,G*V], first[N] (int32) -> y[N,P,H*V], with kept keys[N,L,G*W] and values[N,L,G*V].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/attention_attributes.hpp"

namespace tessera::op {

/// An attention with room for so many positions of every sample.
struct cached_attention_attributes {
    attention_attributes of;
    index_t room = 1;
};

/// Position i of the P new ones of sample n is number first[n] + i of its sequence. Its key and value are written to
/// that row of what is kept, then its query attends to rows 0 to first[n] + i, as attention_attributes say. Positions
/// behind the room are neither written nor mean anything; rows behind first[n] + P are not read, so that what stands
/// there, of padding or of an earlier sequence, does not matter.
///
/// What is kept lies in two parameters that no optimizer sees: they stay on their devices between runs, in shards as
/// attention's keys and values, and this operator, their only reader, writes them in place. Every copy is written by
/// the shard that reads it. New positions and kept ones are not split: a shard has all of them.
constexpr description describe_cached_attention(const cached_attention_attributes& a, const shape* x) {
    const shape& q = x[0];
    const index_t groups = a.of.groups();
    const index_t shared = a.of.heads / groups;
    const index_t width = q[2] / a.of.heads;
    const index_t value_width = x[2][2] / groups;
    const attention_loops l(shared > 1);
    detail::describer w;
    w.add_loop(loop_name::sample, q[0]);
    w.add_loop(loop_name::channel, groups);
    if (l.head >= 0) {
        w.add_loop(loop_name::group_channel, shared);
    }
    w.add_loop(loop_name::position, q[1], true);
    w.add_loop(loop_name::key_position, a.room, true);
    w.add_loop(loop_name::reduction, width, true);
    w.add_loop(loop_name::factor, value_width, true);
    const auto of_heads = [&](index_t each, int channel) { return l.of_heads(shared, each, channel); };
    const auto rows = [&](operand_kind kind, int slot, index_t positions, int loop_index, index_t channels,
                          const affine& channel) {
        const int o = w.add_operand(kind, slot);
        w.index(o, q[0], l.sample);
        w.index(o, positions, loop_index);
        w.index(o, channels, channel);
        w.d.operands[o].differentiable = false;
        return o;
    };
    const int query = rows(operand_kind::input, 0, q[1], l.query, q[2], of_heads(width, l.summed));
    const int key = rows(operand_kind::input, 1, q[1], l.query, x[1][2], l.of_groups(width, l.summed));
    const int value = rows(operand_kind::input, 2, q[1], l.query, x[2][2], l.of_groups(value_width, l.channel));
    const int first = w.add_operand(operand_kind::input, 3, element::i32);
    w.index(first, q[0], l.sample);
    w.d.operands[first].differentiable = false;
    const int keys = rows(operand_kind::parameter, 0, a.room, l.key, x[1][2], l.of_groups(width, l.summed));
    const int values = rows(operand_kind::parameter, 1, a.room, l.key, x[2][2], l.of_groups(value_width, l.channel));
    const int largest = w.add_operand(operand_kind::intermediate, 0);
    w.index(largest, q[0], l.sample);
    w.index(largest, a.of.heads, of_heads(1, -1));
    w.index(largest, q[1], l.query);
    w.d.operands[largest].differentiable = false;
    const int output =
        rows(operand_kind::output, 0, q[1], l.query, a.of.heads * value_width, of_heads(value_width, l.channel));
    const std::uint32_t all = bit(query) | bit(key) | bit(value) | bit(first) | bit(keys) | bit(values);
    const std::uint32_t pairs = w.all_loops() & ~bit(l.summed) & ~bit(l.channel);
    w.add_nest(pairs | bit(l.summed), all, largest, reducer::max, 2);
    w.add_nest(pairs | bit(l.channel), all | bit(largest), output, reducer::sum, 2);
    return w.d;
}

constexpr inferred infer_cached_attention(const cached_attention_attributes& a, const shape* x) {
    const inferred r = infer_attention(a.of, x, true);
    if (r.refused) {
        return r;
    }
    return a.room < 1 ? detail::refuse(rule::extent_is_zero, a.room, 1) : r;
}

inline constexpr op_record cached_attention_record{
    .name = "cached_attention",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_cached_attention(a.as<cached_attention_attributes>(), x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_cached_attention(a.as<cached_attention_attributes>(), x); },
    .inputs = 4,
    .facts = {.work = work_kind::matrix_product},
    .index_bound = [](const op_attributes& a, const shape*,
                      int slot) { return slot == 3 ? a.as<cached_attention_attributes>().room + 1 : index_t{0}; },
};

} // namespace tessera::op

#include "tessera/base/end_header.inl"
