// SPDX-License-Identifier: Apache-2.0
// Bodies of moves.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/moves.hpp"

namespace tessera::search::placement {

TESSERA_INLINE group_moves::group_moves(const evaluator& e, const grouping& groups, const assignment& start)
    : devices_(e.devices()), members_(detail::work_of(e, groups).members), where_(start) {
    near_.resize(members_.size());
    for (const cost_edge& x : e.graph().edges) {
        const int a = groups.of[to_size(x.from)];
        const int b = groups.of[to_size(x.to)];
        if (a != b) {
            near_[to_size(a)].push_back(b);
            near_[to_size(b)].push_back(a);
        }
    }
    for (const std::vector<int>& nodes : members_) {
        put(nodes, start[to_size(nodes.front())]);
    }
}

TESSERA_INLINE void group_moves::move_one(random_numbers& pick) {
    undo_.clear();
    change(pick(groups()), pick(devices_));
}

TESSERA_INLINE void group_moves::move_some(random_numbers& pick) {
    undo_.clear();
    const int k = pick(groups());
    const std::vector<int>& around = near_[to_size(k)];
    const int kind = pick(8);
    if (kind < 3 && !around.empty()) {
        change(k, device(around[to_size(pick(static_cast<int>(around.size())))]));
    } else if (kind == 3) {
        const int other = pick(groups());
        const int there = device(other);
        change(other, device(k));
        change(k, there);
    } else if (kind == 4) {
        const int from = device(k);
        const int to = pick(devices_);
        change(k, to);
        for (const int other : around) {
            if (device(other) == from) {
                change(other, to);
            }
        }
    } else {
        change(k, pick(devices_));
    }
}

TESSERA_INLINE void group_moves::undo() {
    for (std::size_t i = undo_.size(); i-- > 0;) {
        put(members_[to_size(undo_[i].first)], undo_[i].second);
    }
    undo_.clear();
}

TESSERA_INLINE void group_moves::put(const std::vector<int>& nodes, int to) {
    for (const int v : nodes) {
        where_[to_size(v)] = to;
    }
}

TESSERA_INLINE void group_moves::change(int group, int to) {
    if (device(group) != to) {
        undo_.push_back({group, device(group)});
        put(members_[to_size(group)], to);
    }
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
