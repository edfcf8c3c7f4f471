// SPDX-License-Identifier: Apache-2.0
// Bodies of group_collectives.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/group_collectives.hpp"

namespace tessera::simulation {

TESSERA_INLINE activity group_collectives::half(const std::vector<int>& members, index_t bytes) {
    activity a;
    choice& group = of(members);
    const cost::collective_cost& best = group.costs.best(bytes);
    const auto number = static_cast<std::size_t>(&best - group.costs.offered.data());
    group.asked |= 1U << number;
    const device_rates& rates = on_.class_of(members[0]).rates;
    const index_t share = rates.known() ? rates.link_share : 1000;
    a.duration = best.time(bytes);
    if (rates.known()) {
        a.duration = rates.collective_start + best.latency + (a.duration - best.latency) * 1000 / share;
    }
    a.duration = std::max<index_t>(1, a.duration);
    for (const cost::lane_load& l : group.lanes[number]) {
        a.lanes.push_back({l.lane, cost::collective_cost::scaled(l.busy, bytes) * 1000 / share});
    }
    const index_t taken = rates.known() ? a.duration * rates.collective_engine / 1000 : 0;
    for (std::size_t i = 0; taken > 0 && i < members.size(); ++i) {
        a.lanes.push_back({on_.lanes() + members[i], taken, true});
    }
    return a;
}

TESSERA_INLINE group_collectives::choice& group_collectives::of(const std::vector<int>& members) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (int m : members) {
        h = (h ^ static_cast<std::uint64_t>(m)) * 0x100000001b3ULL;
    }
    std::vector<choice>& bucket = choices_[static_cast<std::size_t>(h % choices_.size())];
    for (choice& c : bucket) {
        if (c.members == members) {
            return c;
        }
    }
    if (bucket.size() > 64) { // random placements: forget rather than grow without end
        bucket.clear();
    }
    bucket.push_back({members, cost::all_reduce_halves(on_, in_all_parts(members)), {}});
    choose_lanes(bucket.back());
    return bucket.back();
}

TESSERA_INLINE std::vector<cost::collective_cost> group_collectives::used() const {
    std::vector<cost::collective_cost> all;
    for (const std::vector<choice>& bucket : choices_) {
        for (const choice& c : bucket) {
            for (std::size_t i = 0; i < c.costs.offered.size(); ++i) {
                if (((c.asked >> i) & 1U) != 0) {
                    all.push_back(c.costs.offered[i]);
                }
            }
        }
    }
    return all;
}

TESSERA_INLINE void group_collectives::use_lanes(std::vector<int> representative) {
    representative_ = std::move(representative);
    for (std::vector<choice>& bucket : choices_) {
        for (choice& c : bucket) {
            choose_lanes(c);
        }
    }
}

TESSERA_INLINE void group_collectives::choose_lanes(choice& c) const {
    c.lanes.clear();
    for (const cost::collective_cost& x : c.costs.offered) {
        std::vector<cost::lane_load>& kept = c.lanes.emplace_back();
        for (const cost::lane_load& l : x.lanes) {
            if (representative_.empty() || representative_[to_size(l.lane)] == l.lane) {
                kept.push_back(l);
            }
        }
    }
}

TESSERA_INLINE std::vector<int> group_collectives::in_all_parts(const std::vector<int>& members) const {
    std::vector<int> all;
    for (int m : members) {
        const bool stands = m >= (planned_ - 1) * in_part_; // for those of the parts behind
        for (int k = 0; k < (stands ? parts_ - planned_ + 1 : 1); ++k) {
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
