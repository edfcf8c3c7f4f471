// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention (Vaswani et al. 2017, section 3.2) as one operator: query[N,T,H*W], key[N,S,G*W] and
// value[N,S,G*V] -> y[N,T,H*V]. It keeps each row's maximum and sum (Dao et al. 2022, "FlashAttention"), never the
// matrix of weights, which backward computes anew.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/number.hpp"
#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

/// The score of key s for query t of a head: z = scale * (q . k); where softcap > 0, z = softcap * tanh(z / softcap);
/// with ALiBi less slope * (t' - s), with buckets more what a table has for s - t' and the head. A query stands at
/// t' = t + S - T of the keys: queries are the last ones.
struct attention_attributes {
    static constexpr index_t unlimited = INT32_MAX;

    index_t heads = 1;          ///< H, of queries, side by side in their channels
    index_t key_heads = 0;      ///< G, of keys and values, each for H/G heads of queries in a row; 0: H
    flag causal = false;        ///< a query sees keys up to its own place: s <= t'
    index_t window = unlimited; ///< it sees keys less than so many places away: |t' - s| < window
    double scale = 0;           ///< 0: 1 / sqrt(W)
    double softcap = 0;         ///< 0: none
    flag alibi = false;         ///< head h (from 0) has the slope 2^(-8 (h + 1) / H) (Press et al. 2022)
    index_t percent = 0;        ///< of the weights that are dropped, by the number of (n, h, t, s)
    index_t buckets = 0;        ///< of distances: rows of the table [buckets, H], which is a parameter; 0: none
    index_t max_distance = 128; ///< from which on all are in one bucket
    static constexpr attribute_field fields[] = {
        {"heads", 1, 1},         {"key_heads", 1, 0}, flag_field("causal"),  {"window", 1, 1},  number_field("scale"),
        number_field("softcap"), flag_field("alibi"), {"percent", 1, 0, 99}, {"buckets", 1, 0}, {"max_distance", 1, 1}};

    constexpr index_t groups() const { return key_heads == 0 ? heads : key_heads; }
    /// Buckets of keys behind a query, or at its place; before it there are as many, where it sees any.
    constexpr index_t buckets_behind() const { return causal ? buckets : buckets / 2; }
    /// What q . k is multiplied by.
    double scale_of(index_t width) const { return scale == 0 ? 1 / __builtin_sqrt(static_cast<double>(width)) : scale; }
    /// ALiBi's, of a head of queries.
    double slope_of(index_t head) const {
        return __builtin_exp2(-8 * static_cast<double>(head + 1) / static_cast<double>(heads));
    }
    /// The bucket of a key so many places before a query, less than 0 behind it (Raffel et al. 2020, "Exploring the
    /// limits of transfer learning", section 2.1): of a side's buckets one half have a distance each, from 0 on, and
    /// the widths of the others grow by one factor until max_distance. The small addend keeps distances that are whole
    /// powers of the factor on their own side, whatever a logarithm's last bit is.
    index_t bucket_of(index_t ahead) const {
        const index_t each = buckets_behind();
        const index_t near = each / 2;
        const index_t first = ahead > 0 && !causal ? each : 0;
        const index_t apart = ahead < 0 ? -ahead : causal ? 0 : ahead;
        if (apart < near) {
            return first + apart;
        }
        const auto ratio = [&](index_t of) { return static_cast<double>(of) / static_cast<double>(near); };
        const double far = __builtin_log(ratio(apart)) / __builtin_log(ratio(max_distance));
        const index_t bucket = near + static_cast<index_t>(far * static_cast<double>(each - near) + 1e-9);
        return first + (bucket < each ? bucket : each - 1);
    }
};

/// Which keys a query sees, of those within its sample's length.
struct keys_seen {
    index_t shift = 0; ///< S - T
    index_t window = attention_attributes::unlimited;
    bool causal = false;

    constexpr keys_seen(const attention_attributes& a, index_t queries, index_t keys)
        : shift(keys - queries), window(a.window), causal(a.causal) {}

    constexpr index_t first(index_t query) const {
        const index_t begin = query + shift - window + 1;
        return begin < 0 ? 0 : begin;
    }
    /// Behind the last one, of `keys`.
    constexpr index_t end(index_t query, index_t keys) const {
        const index_t last = query + shift + (causal ? 1 : window);
        return last < keys ? last : keys;
    }
};

/// The loops of an attention by what they run over; -1: it has none.
struct attention_loops {
    int sample = 0;
    int group = 1; ///< heads of keys and values
    int head = -1; ///< heads of queries that share one of them
    int query = 2;
    int key = 3;
    int summed = 4;  ///< width of queries and keys
    int channel = 5; ///< width of values

    constexpr explicit attention_loops(bool shares_keys)
        : head(shares_keys ? 2 : -1), query(shares_keys ? 3 : 2), key(query + 1), summed(query + 2),
          channel(query + 3) {}
};

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
    const auto of_heads = [&](index_t each, int channel) {
        affine at = w.at(l.group, shared * each);
        if (l.head >= 0) {
            at.terms.push_back({l.head, each});
        }
        if (channel >= 0) {
            at.terms.push_back({channel, 1});
        }
        return at;
    };
    const auto of_keys = [&](int slot, const shape& s, index_t each, int channel) {
        const int o = w.add_operand(operand_kind::input, slot);
        w.index(o, s[0], l.sample);
        w.index(o, s[1], l.key);
        affine at = w.at(l.group, each);
        at.terms.push_back({channel, 1});
        w.index(o, s[2], at);
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

constexpr inferred infer_attention(const attention_attributes& a, const shape* x, bool padded) {
    const shape& q = x[0];
    const shape& k = x[1];
    const shape& v = x[2];
    for (int i = 0; i < 3; ++i) {
        if (x[i].rank != 3) {
            return detail::refuse(rule::input_has_wrong_rank, x[i].rank, 3);
        }
    }
    if (a.heads < 1) {
        return detail::refuse(rule::extent_is_zero, a.heads, 1);
    }
    const index_t groups = a.groups();
    if (groups < 1 || a.heads % groups != 0) {
        return detail::refuse(rule::key_heads_do_not_divide_heads, groups, a.heads);
    }
    if (a.window < 1) {
        return detail::refuse(rule::extent_is_zero, a.window, 1);
    }
    if (a.percent < 0 || a.percent > 99) {
        return detail::refuse(rule::percent_out_of_range, a.percent, 99);
    }
    if (a.buckets != 0 && (a.buckets_behind() < 2 || (!a.causal && a.buckets % 2 != 0))) {
        return detail::refuse(rule::buckets_do_not_fit, a.buckets, a.causal ? 2 : 4);
    }
    if (a.buckets != 0 && a.max_distance <= a.buckets_behind() / 2) {
        return detail::refuse(rule::buckets_do_not_fit, a.max_distance, a.buckets_behind() / 2 + 1);
    }
    if (q[2] % a.heads != 0) {
        return detail::refuse(rule::heads_do_not_divide_channels, q[2], a.heads);
    }
    if (k[2] != q[2] / a.heads * groups) {
        return detail::refuse(rule::extents_differ, k[2], q[2] / a.heads * groups,
                              static_cast<int>(loop_name::reduction));
    }
    if (v[2] % groups != 0) {
        return detail::refuse(rule::heads_do_not_divide_channels, v[2], groups);
    }
    if (k[1] != v[1]) {
        return detail::refuse(rule::extents_differ, v[1], k[1], static_cast<int>(loop_name::key_position));
    }
    if (k[0] != q[0] || v[0] != q[0]) {
        return detail::refuse(rule::extents_differ, k[0] != q[0] ? k[0] : v[0], q[0],
                              static_cast<int>(loop_name::sample));
    }
    if (padded && x[3].rank == 2 && x[3][1] != k[1]) {
        return detail::refuse(rule::extents_differ, x[3][1], k[1], static_cast<int>(loop_name::key_position));
    }
    if (padded && (x[3].rank < 1 || x[3].rank > 2 || x[3][0] != q[0])) {
        const bool is_of_rank = x[3].rank == 1 || x[3].rank == 2;
        return detail::refuse(rule::lengths_do_not_fit, is_of_rank ? x[3][0] : x[3].rank, is_of_rank ? q[0] : 1);
    }
    return {{}, make_shape(q[0], q[1], a.heads * (v[2] / groups))};
}

inline constexpr op_record attention_record{
    .name = "attention",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_attention(a.as<attention_attributes>(), x, false); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_attention(a.as<attention_attributes>(), x, false); },
    .inputs = 3,
    .facts = {.work = work_kind::matrix_product},
    .initial = {initial_values::zeros},
    .own = list_of<attention_attributes>(),
};

inline constexpr op_record padded_attention_record{
    .name = "padded_attention",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_attention(a.as<attention_attributes>(), x, true); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_attention(a.as<attention_attributes>(), x, true); },
    .inputs = 4,
    .facts = {.work = work_kind::matrix_product},
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
