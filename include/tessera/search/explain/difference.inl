// SPDX-License-Identifier: Apache-2.0
// Bodies of difference.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/explain/difference.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE void differing_fields::add(bool differs, const char* what) {
    if (differs && !has(what)) {
        words.emplace_back(what);
    }
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE operator_difference compare(const description& d, const strategy& a, const strategy& b, int op) {
    const configuration& x = a.ops[to_size(op)];
    const configuration& y = b.ops[to_size(op)];
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

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE strategy_difference difference(const graph_view& g, const strategy& a, const strategy& b) {
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
            r.ops.push_back(std::move(one));
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
