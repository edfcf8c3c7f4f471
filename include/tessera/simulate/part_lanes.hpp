// SPDX-License-Identifier: Apache-2.0
// Lanes of a machine in equal parts that a simulation cannot tell apart: one of each stands for all.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/collective.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tessera::simulation {

/// Of all lanes those that a simulation of the first two parts needs.
struct part_lanes {
    std::vector<int> representative; ///< of every lane
    std::string unlike; ///< why the second part does not stand for those behind it; "": it does, and times are the same
};

/// The second part stands for all behind it if no part sends to another (`pairs` of devices of the first two send), if
/// what it sends goes, in every other, over lanes of the same bandwidth and latency that are used by that part alone,
/// one for each of the second part's, and if every collective over all parts loads these as it loads those. Then what
/// happens to it happens to all at the same times: by induction over the order in which a simulation takes activities,
/// the lanes that they ask for are free at the same time. Lanes that collectives alone use, each in the same way, are
/// one.
part_lanes lanes_of_parts(const cluster& on, int parts, const std::vector<std::pair<int, int>>& pairs,
                          const std::vector<cost::collective_cost>& collectives);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/part_lanes.inl"
#endif

#include "tessera/base/end_header.inl"
