// SPDX-License-Identifier: Apache-2.0
// Bodies of lanes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/lanes.hpp"

namespace tessera {

TESSERA_INLINE std::vector<lane_place> lanes_of(const device_graph& g) {
    std::vector<lane_place> all;
    for (std::size_t i = 0; i < g.links.size(); ++i) {
        const link& l = g.links[i];
        for (int direction = 0; direction < (l.half_duplex ? 1 : 2); ++direction) {
            for (int cable = 0; cable < l.cables; ++cable) {
                const bool there = direction == 0;
                all.push_back(
                    {static_cast<int>(i), there ? l.from : l.to, there ? l.to : l.from, cable, l.half_duplex});
            }
        }
    }
    return all;
}

TESSERA_INLINE std::string text_of_lane(const device_graph& g, const lane_place& p) {
    const auto name = [&g](int c) { return g.components[to_size(c)].name; };
    const std::string cable = g.links[to_size(p.link)].cables > 1 ? " #" + std::to_string(p.cable) : "";
    return name(p.from) + (p.both_ways ? " - " : " -> ") + name(p.to) + cable;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
