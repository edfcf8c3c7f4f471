// SPDX-License-Identifier: Apache-2.0
// The best collectives of groups of devices, remembered from one plan to the next.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/collective.hpp"
#include "tessera/simulate/schedule.hpp"

namespace tessera::simulation {

/// Of a machine in equal parts the members in the first one are given; the collectives reach over all parts.
class group_collectives {
public:
    group_collectives(const cluster& on, int parts) : on_(on), parts_(parts), in_part_(on.devices() / parts) {}

    /// Half of an all-reduce, scatter or gather, as an activity.
    activity half(const std::vector<int>& members, index_t bytes) {
        activity a;
        const cost::collective_cost& best = of(members).best(bytes);
        a.duration = std::max<index_t>(1, best.time(bytes));
        for (const cost::lane_load& l : best.lanes) {
            a.lanes.push_back({l.lane, cost::collective_cost::scaled(l.busy, bytes)});
        }
        return a;
    }

private:
    struct choice {
        std::vector<int> members;
        cost::collective_choice costs;
    };

    const cost::collective_choice& of(const std::vector<int>& members) {
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
    std::vector<int> in_all_parts(const std::vector<int>& members) const {
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

    const cluster& on_;
    int parts_ = 1;
    int in_part_ = 0;
    std::vector<std::vector<choice>> choices_ = std::vector<std::vector<choice>>(509);
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
