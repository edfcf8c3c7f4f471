// SPDX-License-Identifier: Apache-2.0
// Bodies of state_pieces.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/state_pieces.hpp"

namespace tessera::detail {

TESSERA_INLINE std::vector<state_piece> pieces_of(const parameter_store& store, int parameter, int state) {
    std::vector<state_piece> all;
    int number = 0;
    for (const stored_region& r : regions_of(store, parameter, state)) {
        const index_t volume = r.form.region.volume();
        state_piece whole_region{r.form.region, {0, volume}, {}, number++, !lies_plain(r) && r.slices > 1};
        for (std::size_t s = 0; s < r.slice.size(); ++s) {
            state_piece p{
                r.form.region, even_part(volume, r.slices, static_cast<index_t>(s)), {}, whole_region.number, false};
            for (const parameter_store::entry* e : r.slice[s]) {
                p.devices.push_back(e->what.device);
                whole_region.devices.push_back(e->what.device);
            }
            if (lies_plain(r) && !p.elements.empty() && !p.devices.empty()) {
                all.push_back(p);
            }
        }
        if (!lies_plain(r)) {
            all.push_back(whole_region);
        }
    }
    return all;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
