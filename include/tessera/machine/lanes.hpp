// SPDX-License-Identifier: Apache-2.0
// What a lane of a cluster is: which link, which direction, which cable.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"

namespace tessera {

struct lane_place {
    int link = 0;
    int from = 0; ///< component
    int to = 0;   ///< component; of a half-duplex link the lane carries both ways
    int cable = 0;
    bool both_ways = false;
};

/// The places of a cluster's lanes, in the order of their numbers.
std::vector<lane_place> lanes_of(const device_graph& g);

/// "gpu 0.1 -> host 0", with the number of the cable where there are several.
std::string text_of_lane(const device_graph& g, const lane_place& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/machine/lanes.inl"
#endif

#include "tessera/base/end_header.inl"
