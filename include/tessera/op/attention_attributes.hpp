// SPDX-License-Identifier: Apache-2.0
// What attention and its form with kept keys and values have in common: attributes, which keys a query sees, loops, and
// which inputs go together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/number.hpp"
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

    /// Channels of queries or outputs, `each` of a head; `shared` heads have one head of keys. -1: there is one channel.
    constexpr affine of_heads(index_t shared, index_t each, int channel_loop) const {
        affine at = detail::describer::at(group, shared * each);
        if (head >= 0) {
            at.terms.push_back({head, each});
        }
        if (channel_loop >= 0) {
            at.terms.push_back({channel_loop, 1});
        }
        return at;
    }
    /// Channels of keys or values, `each` of a head.
    constexpr affine of_groups(index_t each, int channel_loop) const {
        affine at = detail::describer::at(group, each);
        at.terms.push_back({channel_loop, 1});
        return at;
    }
};

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

} // namespace tessera::op

#include "tessera/base/end_header.inl"
