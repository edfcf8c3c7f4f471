// SPDX-License-Identifier: Apache-2.0
// Bodies of memory_estimate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/memory_estimate.hpp"

namespace tessera::search {

TESSERA_INLINE memory_estimate::memory_estimate(const graph_view& g, const cluster& on, const strategy& s, int states)
    : g_(g), held_(g, s.state_on_host ? 0 : states), bytes_(to_size(on.devices()), 0) {
    for (int d = 0; d < on.devices(); ++d) {
        limits_.push_back(on.class_of(d).memory_bytes);
    }
    descriptions_.reserve(to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
        add(op, s.ops[to_size(op)], s.pool.data(), bytes_, 1);
    }
}

TESSERA_INLINE index_t memory_estimate::excess_after(const strategy& now, const std::vector<change>& changes) {
    next_ = bytes_;
    for (const change& x : changes) {
        add(x.op, now.ops[to_size(x.op)], now.pool.data(), next_, -1);
        add(x.op, x.what, x.pool.data(), next_, 1);
    }
    return excess_of(next_);
}

TESSERA_INLINE void memory_estimate::add(int op, const configuration& c, const index_t* pool,
                                         std::vector<index_t>& bytes, index_t sign) const {
    const description& d = descriptions_[to_size(op)];
    for (int i = 0; i < c.shards(); ++i) {
        const shard s = shard_at(c, pool, d, i);
        bytes[to_size(s.device)] += sign * held_.of(g_, op, d, s, keeps_results(c));
    }
}

TESSERA_INLINE index_t memory_estimate::excess_of(const std::vector<index_t>& bytes) const {
    index_t sum = 0;
    for (std::size_t d = 0; d < bytes.size(); ++d) {
        sum += limits_[d] > 0 && bytes[d] > limits_[d] ? bytes[d] - limits_[d] : 0;
    }
    return sum;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
