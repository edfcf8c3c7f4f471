// SPDX-License-Identifier: Apache-2.0
// In what two strategies of one network differ.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

#include <algorithm>
#include <string>

namespace tessera::search {

/// The words for fields that differ, each once.
struct differing_fields {
    std::vector<std::string> words;

    bool any() const { return !words.empty(); }
    bool has(const std::string& what) const { return std::find(words.begin(), words.end(), what) != words.end(); }
    void add(bool differs, const char* what) {
        if (differs && !has(what)) {
            words.emplace_back(what);
        }
    }
};

/// What two configurations of one operator differ in: "splits" (degrees or cut points), "parts" of a partial input, "copies" of every shard, "devices" where
/// some shard runs (other numbers of shards always run elsewhere), "stage", "recompute".
struct operator_difference : differing_fields {
    int op = -1;
};

/// What two strategies differ in besides their operators' configurations, by the words of strategy::each_field; and those of operators that differ, in the
/// network's order. Leave to be uneven, or to split coupled loops, is no difference: it changes nothing that runs.
struct strategy_difference : differing_fields {
    std::vector<operator_difference> ops;

    bool any() const { return differing_fields::any() || !ops.empty(); }
};

namespace detail {

inline operator_difference compare(const description& d, const strategy& a, const strategy& b, int op) {
    const configuration& x = a.ops[static_cast<std::size_t>(op)];
    const configuration& y = b.ops[static_cast<std::size_t>(op)];
    operator_difference r;
    r.op = op;
    for (int l = 0; l < d.loops.size(); ++l) {
        r.add(x.degree[l] != y.degree[l], "splits");
        for (int i = 0; x.degree[l] == y.degree[l] && i < x.degree[l]; ++i) {
            r.add(!(range_of(x, a.pool.data(), d, l, i) == range_of(y, b.pool.data(), d, l, i)), "splits");
        }
    }
    r.add(x.shards() != y.shards(), "devices");
    for (int i = 0; x.shards() == y.shards() && i < x.shards(); ++i) {
        r.add(shard_at(x, a.pool.data(), d, i).device != shard_at(y, b.pool.data(), d, i).device, "devices");
    }
    configuration::each_field([&](const char* name, auto member, const field_facts& f) {
        if constexpr (is_plain<std::remove_cvref_t<decltype(x.*member)>>) {
            r.add(!f.pooled && !f.places && !f.permits && x.*member != y.*member, f.words != nullptr ? f.words : name);
        }
    });
    return r;
}

} // namespace detail

/// Compares two strategies of a network. Throws tessera::error where one of them has another number of operators.
inline strategy_difference difference(const graph_view& g, const strategy& a, const strategy& b) {
    for (const strategy* s : {&a, &b}) {
        if (static_cast<int>(s->ops.size()) != g.op_count) {
            require(tessera::detail::broken(rule::strategy_has_wrong_size, -1, -1, static_cast<index_t>(s->ops.size()),
                                            g.op_count));
        }
    }
    strategy_difference r;
    for (int op = 0; op < g.op_count; ++op) {
        operator_difference one = detail::compare(g.describe(op), a, b, op);
        if (one.any()) {
            r.ops.push_back(static_cast<operator_difference&&>(one));
        }
    }
    const bool unscheduled = a.schedule.stages == 0 && b.schedule.stages == 0;
    strategy::each_field([&](const char* name, auto member, const field_facts& f) {
        using type = std::remove_cvref_t<decltype(a.*member)>;
        if constexpr (is_plain<type> || Described<type>) { // operators and the pool are compared above
            const bool alike = a.*member == b.*member || (std::is_same_v<type, pipeline_schedule> && unscheduled);
            r.add(!alike, f.words != nullptr ? f.words : name);
        }
    });
    return r;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
