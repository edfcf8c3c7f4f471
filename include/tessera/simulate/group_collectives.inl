// SPDX-License-Identifier: Apache-2.0
// Bodies of group_collectives.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/group_collectives.hpp"

namespace tessera::simulation {

TESSERA_INLINE activity group_collectives::half(const std::vector<int>& members, index_t bytes) {
    activity a;
    const cost::collective_cost& best = of(members).best(bytes);
    const device_rates& rates = on_.class_of(members[0]).rates;
    const index_t share = rates.known() ? rates.link_share : 1000;
    a.duration = best.time(bytes);
    if (rates.known()) {
        a.duration = rates.collective_start + best.latency + (a.duration - best.latency) * 1000 / share;
    }
    a.duration = std::max<index_t>(1, a.duration);
    for (const cost::lane_load& l : best.lanes) {
        a.lanes.push_back({l.lane, cost::collective_cost::scaled(l.busy, bytes) * 1000 / share});
    }
    const index_t taken = rates.known() ? a.duration * rates.collective_engine / 1000 : 0;
    for (std::size_t i = 0; taken > 0 && i < members.size(); ++i) {
        a.lanes.push_back({on_.lanes() + members[i], taken, true});
    }
    return a;
}

TESSERA_INLINE const cost::collective_choice& group_collectives::of(const std::vector<int>& members) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (int m : members) {
        h = (h ^ static_cast<std::uint64_t>(m)) * 0x100000001b3ULL;
    }
    std::vector<choice>& bucket = choices_[static_cast<std::size_t>(h % choices_.size())];
    for (const choice& c : bucket) {
        if (c.members == members) {
            return c.costs;
        }
    }
    if (bucket.size() > 64) { // random placements: forget rather than grow without end
        bucket.clear();
    }
    bucket.push_back({members, cost::all_reduce_halves(on_, in_all_parts(members))});
    return bucket.back().costs;
}

TESSERA_INLINE std::vector<int> group_collectives::in_all_parts(const std::vector<int>& members) const {
    std::vector<int> all;
    for (int k = 0; k < parts_; ++k) {
        for (int m : members) {
            all.push_back(m + k * in_part_);
        }
    }
    std::sort(all.begin(), all.end(), [this](int a, int b) {
        return on_.node_of(a) != on_.node_of(b) ? on_.node_of(a) < on_.node_of(b) : a < b;
    });
    return all;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
