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
    activity half(const std::vector<int>& members, index_t bytes);

private:
    struct choice {
        std::vector<int> members;
        cost::collective_choice costs;
    };

    const cost::collective_choice& of(const std::vector<int>& members);
    std::vector<int> in_all_parts(const std::vector<int>& members) const;

    const cluster& on_;
    int parts_ = 1;
    int in_part_ = 0;
    std::vector<std::vector<choice>> choices_ = std::vector<std::vector<choice>>(509);
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/group_collectives.inl"
#endif

#include "tessera/base/end_header.inl"
