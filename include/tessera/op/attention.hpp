// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention (Vaswani et al. 2017, section 3.2) as one operator: query[N,T,H*W], key[N,S,G*W] and
// value[N,S,G*V] -> y[N,T,H*V]. It keeps each row's maximum and sum (Dao et al. 2022, "FlashAttention"), never the
// matrix of weights, which backward computes anew.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/attention_attributes.hpp"
#include "tessera/op/cached_attention.hpp"
#include "tessera/op/options.hpp"

namespace tessera::op {

/// Nests: the maximum of every row of scores, the sum of its exponentials, the mixture of values. A split of the keys
/// leaves partial maxima, sums and outputs, which are reduced: 4 bytes a row and head for each of the first two, the
/// output's bytes for the third; backward 4 bytes a row and head, where the gradient of the sum stands for the sum of
/// dy * y, which is over the values of a head and, of partial outputs, over parts. The first nest has the values among
/// its reads, so that one pass makes all three gradients. Backward is 5 products of matrices to forward's 2: scores
/// anew, and the gradients of weights, values, queries and keys; that of a table of buckets, which a pass of its own
/// makes, is 2 more.
constexpr description describe_attention(const attention_attributes& a, const shape* x, bool padded) {
    const shape& q = x[0];
    const shape& k = x[1];
    const shape& v = x[2];
    const index_t groups = a.groups();
    const index_t shared = a.heads / groups;
    const index_t width = q[2] / a.heads;
    const index_t value_width = v[2] / groups;
    const attention_loops l(shared > 1);
    detail::describer w;
    w.add_loop(loop_name::sample, q[0]);
    w.add_loop(loop_name::channel, groups);
    if (l.head >= 0) {
        w.add_loop(loop_name::group_channel, shared);
    }
    w.add_loop(loop_name::position, q[1]);
    w.add_loop(loop_name::key_position, k[1]);
    w.add_loop(loop_name::reduction, width, true);
    w.add_loop(loop_name::factor, value_width, true);
    const auto of_heads = [&](index_t each, int channel) { return l.of_heads(shared, each, channel); };
    const auto of_keys = [&](int slot, const shape& s, index_t each, int channel) {
        const int o = w.add_operand(operand_kind::input, slot);
        w.index(o, s[0], l.sample);
        w.index(o, s[1], l.key);
        w.index(o, s[2], l.of_groups(each, channel));
        return o;
    };
    const int query = w.add_operand(operand_kind::input, 0);
    w.index(query, q[0], l.sample);
    w.index(query, q[1], l.query);
    w.index(query, q[2], of_heads(width, l.summed));
    const int key = of_keys(1, k, width, l.summed);
    const int value = of_keys(2, v, value_width, l.channel);
    std::uint32_t lengths = 0;
    if (padded) {
        const int o = w.add_operand(operand_kind::input, 3, element::i32);
        w.index(o, q[0], l.sample);
        if (x[3].rank == 2) {
            w.index(o, k[1], l.key);
        }
        w.d.operands[o].differentiable = false;
        lengths = bit(o);
    }
    std::uint32_t table = 0;
    if (a.buckets > 0) {
        const int o = w.add_operand(operand_kind::parameter, 0);
        w.index(o, a.buckets, w.everything());
        w.index(o, a.heads, of_heads(1, -1));
        table = bit(o);
    }
    const auto of_rows = [&](int slot) {
        const int o = w.add_operand(operand_kind::intermediate, slot);
        w.index(o, q[0], l.sample);
        w.index(o, a.heads, of_heads(1, -1));
        w.index(o, q[1], l.query);
        return o;
    };
    const int largest = of_rows(0);
    const int total = of_rows(1);
    w.d.operands[largest].differentiable = false;
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, q[0], l.sample);
    w.index(output, q[1], l.query);
    w.index(output, a.heads * value_width, of_heads(value_width, l.channel));

    const std::uint32_t scores = bit(query) | bit(key) | lengths | table;
    const std::uint32_t all = scores | bit(value) | bit(largest) | bit(total);
    const int anew[3] = {2, 1, 2}; // products of matrices for dq and the scores, dk, dv and the weights' gradients
    for (int o = 0; o < 3; ++o) {
        w.d.operands[o].gradient_reads = all;
        w.d.operands[o].gradient_times = anew[o];
    }
    if (const int o = w.d.find_operand(operand_kind::parameter); o >= 0) {
        w.d.operands[o].gradient_reads = all;
        w.d.operands[o].gradient_times = 2;
    }
    w.d.operands[total].gradient_reads = bit(output);
    w.d.operands[total].gradient_times = 0; // no product of matrices
    const std::uint32_t pairs = w.all_loops() & ~bit(l.summed) & ~bit(l.channel);
    w.add_nest(pairs | bit(l.summed), scores | bit(value), largest, reducer::max, 2);
    w.add_nest(pairs, scores | bit(largest), total, reducer::sum, 4);
    w.add_nest(pairs | bit(l.channel), all, output, reducer::sum, 2);
    if (a.causal || a.window < q[1] + k[1]) {
        const keys_seen seen(a, q[1], k[1]);
        w.d.seen = {l.query, l.key, seen.shift - a.window + 1, seen.shift + (a.causal ? 0 : a.window - 1)};
    }
    return w.d;
}

/// Piece by piece, keys and values of earlier positions are kept. Of causal attention of a sequence to itself alone.
constexpr piecewise_use attention_in_pieces(const op_attributes& a, const shape* x, index_t room) {
    cached_attention_attributes own{a.as<attention_attributes>(), room};
    piecewise_use u;
    if (!own.of.causal || x[0][1] != x[1][1]) {
        u.refused = problem{rule::attention_sees_later_positions, -1, -1, x[1][1], x[0][1]};
    } else if (own.of.buckets > 0) { // a table, which what is kept has no place for
        u.refused = problem{rule::other_positions_are_read, -1, -1, own.of.buckets, 0};
    }
    own.of.percent = 0; // nothing is dropped from predictions
    u.attributes = attributes_of(op_kind{&cached_attention_record}, own);
    u.attributes.math = a.math;
    u.kept.push_back(make_shape(x[1][0], room, x[1][2]));
    u.kept.push_back(make_shape(x[2][0], room, x[2][2]));
    return u;
}

inline constexpr op_record attention_record{
    .name = "attention",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_attention(a.as<attention_attributes>(), x, false); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_attention(a.as<attention_attributes>(), x, false); },
    .inputs = 3,
    .facts = {.work = work_kind::matrix_product, .merges = true},
    .initial = {initial_values::zeros},
    .piecewise = [](const op_attributes& a, const shape* x, index_t room) { return attention_in_pieces(a, x, room); },
    .own = list_of<attention_attributes>(),
};

inline constexpr op_record padded_attention_record{
    .name = "padded_attention",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_attention(a.as<attention_attributes>(), x, true); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_attention(a.as<attention_attributes>(), x, true); },
    .inputs = 4,
    .facts = {.work = work_kind::matrix_product, .merges = true},
    .initial = {initial_values::zeros},
    .index_bound = [](const op_attributes&, const shape* x,
                      int slot) { return slot != 3        ? index_t{0}
                                         : x[3].rank == 2 ? index_t{2}
                                                          : x[1][1] + 1; },
    .own = list_of<attention_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::attention{&op::attention_record};
inline constexpr op_kind op_kind::padded_attention{&op::padded_attention_record};

/// attention: keys and values have Count heads, each for as many heads of queries in a row (Ainslie et al. 2023,
/// "GQA").
template <index_t Count>
struct key_heads {
    template <class Own>
    requires requires(Own& own) { own.key_heads; }
    static constexpr void apply(Own& own) { own.key_heads = Count; }
};
/// attention: a query sees keys less than Places away (Beltagy et al. 2020, "Longformer", section 3.1).
template <index_t Places>
struct sliding_window {
    template <class Own>
    requires requires(Own& own) { own.causal, own.window; }
    static constexpr void apply(Own& own) { own.window = Places; }
};
/// attention: scores are Factor * (q . k) instead of (q . k) / sqrt(W).
template <number Factor>
struct score_scale {
    template <class Own>
    requires requires(Own& own) { own.causal, own.scale; }
    static constexpr void apply(Own& own) { own.scale = Factor.value(); }
};
/// attention: scores z become Cap * tanh(z / Cap) (Gemma 2, Riviere et al. 2024, section 2).
template <number Cap>
struct softcap {
    template <class Own>
    requires requires(Own& own) { own.softcap; }
    static constexpr void apply(Own& own) { own.softcap = Cap.value(); }
};
/// attention: scores fall with the distance of query and key (Press et al. 2022, "Train short, test long", section 3).
struct alibi {
    template <class Own>
    requires requires(Own& own) { own.alibi; }
    static constexpr void apply(Own& own) { own.alibi = true; }
};
/// attention: a trained number for each of Count buckets of distances and each head is added to scores (Raffel et al.
/// 2020, "Exploring the limits of transfer learning", section 2.1). Distances from MaxDistance on are in one bucket;
/// half of them are for keys before a query, unless attention is causal. Several layers have one table as shared<L>.
template <index_t Count, index_t MaxDistance = 128>
struct position_buckets {
    template <class Own>
    requires requires(Own& own) { own.buckets, own.max_distance; }
    static constexpr void apply(Own& own) {
        own.buckets = Count;
        own.max_distance = MaxDistance;
    }
};

/// attention<heads<H>, key_heads<G>, causal, sliding_window<>, score_scale<>, softcap<>, alibi, position_buckets<>,
/// percent<dropped>>: queries, keys, values -> their mixture, see op/attention.hpp. A query that sees no key gives
/// zeros.
template <class... Options>
struct attention : detail::layer_with<op_kind::attention, op::attention_attributes, Options...> {};
/// padded_attention: the same with the number of keys of each sample, lengths[N] (int32), those behind it not being
/// seen; or with a mask[N,S] (int32), in which those with 0 are not.
template <class... Options>
struct padded_attention : detail::layer_with<op_kind::padded_attention, op::attention_attributes, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
