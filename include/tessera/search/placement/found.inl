// SPDX-License-Identifier: Apache-2.0
// Bodies of found.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

namespace tessera::search::placement {

TESSERA_INLINE bool found::better_than(const found& other) const {
    return excess_bytes != other.excess_bytes ? excess_bytes < other.excess_bytes : step < other.step;
}

TESSERA_INLINE found priced(evaluator& e, assignment where) {
    const price p = e.priced(where);
    return {std::move(where), p.step, p.excess_bytes, 1};
}

TESSERA_INLINE double work_of(const evaluator& e, int node) {
    const task_time t = e.time(node, 0);
    return static_cast<double>(t.forward) + static_cast<double>(t.backward);
}

} // namespace tessera::search::placement

namespace tessera::search::placement::detail {

TESSERA_INLINE weighed_price::weighed_price(const evaluator& e) {
    for (int d = 0; d < e.devices(); ++d) {
        memory_ = std::max(memory_, e.capacity(d));
    }
}

TESSERA_INLINE double weighed_price::operator()(const found& f) const {
    const double over = f.excess_bytes == 0 ? 0 : static_cast<double>(f.excess_bytes) / static_cast<double>(memory_);
    return static_cast<double>(f.step) * (1 + (over > 0 ? 0.25 : 0) + 10 * over);
}

TESSERA_INLINE group_work work_of(const evaluator& e, const grouping& groups) {
    group_work w;
    w.work.assign(to_size(groups.count), 0);
    w.members.resize(to_size(groups.count));
    for (const int v : e.order().order) {
        w.work[to_size(groups.of[to_size(v)])] += placement::work_of(e, v);
        w.members[to_size(groups.of[to_size(v)])].push_back(v);
    }
    return w;
}

} // namespace tessera::search::placement::detail

#include "tessera/base/end_header.inl"
