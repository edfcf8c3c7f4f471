// SPDX-License-Identifier: Apache-2.0
// Bodies of side_by_side.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/side_by_side.hpp"

namespace tessera::search {

TESSERA_INLINE std::vector<named_strategy> layers_side_by_side(const proposal_space& space, const strategy& from) {
    std::vector<named_strategy> found;
    const auto add = [&](const std::vector<int>& layers, const std::string& which) {
        for (int parts = 2; parts <= std::min({8, space.devices(), static_cast<int>(layers.size())}); parts *= 2) {
            for (const configuration& c : space.for_part(layers[0], parts, true)) {
                for (const bool strided : {false, true}) {
                    proposal p;
                    space.deal(p, layers, parts, strided, c);
                    if (!space.is_legal(from, p)) {
                        continue;
                    }
                    strategy s = from;
                    for (const change& x : proposal_space::in_stages_of(from, p)) {
                        apply(s, x);
                    }
                    found.push_back(
                        {which + " side by side on " + std::to_string(parts) + " parts" + (strided ? ", strided" : ""),
                         std::move(s)});
                }
            }
        }
    };
    const std::size_t blocks = space.groups().blocks.size();
    std::vector<int> seen;
    for (std::size_t b = 0; b < blocks; ++b) {
        const int layer = space.layer_of(b);
        if (std::none_of(seen.begin(), seen.end(), [&](int other) { return space.same_sort(other, layer); })) {
            add(space.layers_from(b, false, blocks), "layers");
        }
        seen.push_back(layer);
    }
    if (blocks > 0) {
        add(space.layers_from(0, true, blocks), "blocks");
    }
    return found;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
