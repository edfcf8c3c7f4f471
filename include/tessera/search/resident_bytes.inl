// SPDX-License-Identifier: Apache-2.0
// Bodies of resident_bytes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/resident_bytes.hpp"

namespace tessera::search {

TESSERA_INLINE resident_bytes::resident_bytes(const graph_view& g, int states)
    : states_(states), first_user_(to_size(g.parameter_count), -1) {
    for (int op = g.op_count - 1; op >= 0; --op) {
        for (int p : g.ops[op].parameters) {
            first_user_[to_size(p)] = op;
        }
    }
}

TESSERA_INLINE index_t resident_bytes::of(const graph_view& g, int op, const description& d, const shard& s,
                                          bool keeps) const {
    return sum(g, op, d, keeps, [&](int o) { return region(d, o, s.ranges).volume(); });
}

TESSERA_INLINE index_t resident_bytes::most(const graph_view& g, int op, const description& d, const configuration& c,
                                            const index_t* pool) const {
    return sum(g, op, d, keeps_results(c), [&](int o) { return cost::detail::largest_piece(d, o, c, pool); });
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
