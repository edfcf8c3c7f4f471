// SPDX-License-Identifier: Apache-2.0
// The best collectives of groups of devices, remembered from one plan to the next.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/collective.hpp"
#include "tessera/simulate/schedule.hpp"

#include <utility>

namespace tessera::simulation {

/// Of a machine in equal parts the members in the planned ones are given, of which the last stands for the rest; the collectives reach over all parts.
class group_collectives {
public:
    group_collectives(const cluster& on, int parts, int planned)
        : on_(on), parts_(parts), planned_(planned), in_part_(on.devices() / parts) {}

    /// Half of an all-reduce, scatter or gather, as an activity.
    activity half(const std::vector<int>& members, index_t bytes);

    /// What has been asked for, each algorithm of each group of devices once.
    std::vector<cost::collective_cost> used() const;
    /// From now on an activity uses of all lanes those that stand for themselves: representative[lane] == lane.
    void use_lanes(std::vector<int> representative);

private:
    struct choice {
        std::vector<int> members;
        cost::collective_choice costs;
        std::vector<std::vector<cost::lane_load>> lanes; ///< of each that activities use
        std::uint32_t asked = 0;                         ///< a bit for each that was the best
    };

    choice& of(const std::vector<int>& members);
    void choose_lanes(choice& c) const;
    std::vector<int> in_all_parts(const std::vector<int>& members) const;

    const cluster& on_;
    int parts_ = 1;
    int planned_ = 1;
    int in_part_ = 0;
    std::vector<int> representative_; ///< of every lane, or empty: all are used
    std::vector<std::vector<choice>> choices_ = std::vector<std::vector<choice>>(509);
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/group_collectives.inl"
#endif

#include "tessera/base/end_header.inl"
