// SPDX-License-Identifier: Apache-2.0
// Bodies of lean.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/lean.hpp"

namespace tessera::search {

TESSERA_INLINE index_t lean_strategies::least_bytes() const {
    index_t least = INT64_MAX;
    for (const lean_strategy& x : all) {
        least = std::min(least, *std::max_element(x.bytes.begin(), x.bytes.end()));
    }
    return least;
}

TESSERA_INLINE const lean_strategy* lean_strategies::cheapest_that_fits(const cluster& on) const {
    const lean_strategy* best = nullptr;
    for (const lean_strategy& x : all) {
        bool fits = true;
        for (int d = 0; d < on.devices(); ++d) {
            const index_t has = on.class_of(d).memory_bytes;
            fits = fits && (has <= 0 || x.bytes[to_size(d)] <= has);
        }
        best = fits && (best == nullptr || x.cost < best->cost) ? &x : best;
    }
    return best;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
