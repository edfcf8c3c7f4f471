// SPDX-License-Identifier: Apache-2.0
// Bodies of chain.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/recompute/chain.hpp"

#include "tessera/base/error.hpp"

#include <algorithm>

namespace tessera::search::detail {

/// The best that reaches a place with so many bytes stored.
struct chain_state {
    index_t stored = 0;
    index_t time = 0;
    index_t peak = 0;
    int part = -1; ///< the last one
    int from = -1; ///< the state before it, at the place where it begins
};

/// Leaves those that no other is at least as good as, by bytes.
TESSERA_INLINE void drop_dominated(std::vector<chain_state>& all) {
    std::stable_sort(all.begin(), all.end(), [](const chain_state& a, const chain_state& b) {
        return a.stored != b.stored ? a.stored < b.stored : a.time < b.time;
    });
    std::size_t kept = 0;
    for (const chain_state& x : all) {
        if (kept == 0 || x.time < all[kept - 1].time) {
            all[kept++] = x;
        }
    }
    all.resize(kept);
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE chain_choice cheapest_chain(int places, const std::vector<chain_part>& parts, index_t limit) {
    std::vector<std::vector<int>> to(to_size(places + 1)); // parts that end there
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const chain_part& x = parts[i];
        if (x.first < 0 || x.last <= x.first || x.last > places) {
            throw error("tessera: a part of a chain of " + std::to_string(places) + " places goes from place " +
                        std::to_string(x.first) + " to " + std::to_string(x.last) +
                        "; parts go on, to the end at most");
        }
        to[to_size(x.last)].push_back(static_cast<int>(i));
    }
    std::vector<std::vector<detail::chain_state>> reached(to_size(places + 1));
    reached[0].push_back({});
    for (int place = 1; place <= places; ++place) {
        std::vector<detail::chain_state>& here = reached[to_size(place)];
        for (const int i : to[to_size(place)]) {
            const chain_part& x = parts[to_size(i)];
            const auto& before = reached[to_size(x.first)];
            for (std::size_t k = 0; k < before.size(); ++k) {
                if (before[k].stored + x.alive <= limit) {
                    here.push_back({before[k].stored + x.stored, before[k].time + x.time,
                                    std::max(before[k].peak, before[k].stored + x.alive), i, static_cast<int>(k)});
                }
            }
        }
        detail::drop_dominated(here);
    }
    chain_choice best;
    if (reached[to_size(places)].empty()) {
        return best;
    }
    best.found = true;
    int state = static_cast<int>(reached[to_size(places)].size()) - 1; // the fastest comes last
    best.time = reached[to_size(places)][to_size(state)].time;
    best.peak = reached[to_size(places)][to_size(state)].peak;
    for (int place = places; place > 0;) {
        const detail::chain_state& x = reached[to_size(place)][to_size(state)];
        best.parts.push_back(x.part);
        place = parts[to_size(x.part)].first;
        state = x.from;
    }
    std::reverse(best.parts.begin(), best.parts.end());
    return best;
}

TESSERA_INLINE index_t least_chain_limit(int places, const std::vector<chain_part>& parts) {
    index_t most = 0;
    for (const chain_part& x : parts) {
        most += std::max(x.stored, x.alive);
    }
    if (!cheapest_chain(places, parts, most).found) {
        return -1;
    }
    index_t least = 0;
    while (least < most) {
        const index_t middle = least + (most - least) / 2;
        if (cheapest_chain(places, parts, middle).found) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    return least;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
