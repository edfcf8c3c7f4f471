// SPDX-License-Identifier: Apache-2.0
// Bodies of metropolis.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/metropolis.hpp"

namespace tessera::search::placement {

TESSERA_INLINE found metropolis(evaluator& e, const metropolis_options& o) {
    return detail::walk(e, o.groups, o.start, o.evaluations, o.temperature, 1, o.seed,
                        [](group_moves& moves, random_numbers& pick) { moves.move_one(pick); });
}

TESSERA_INLINE found at_random(evaluator& e, std::int64_t evaluations, std::uint64_t seed, const grouping& together) {
    const grouping groups = together.of.empty() ? required_groups(e.graph(), e.order()) : together;
    random_numbers pick{seed};
    found best;
    for (std::int64_t i = 0; i < evaluations; ++i) {
        std::vector<int> device(to_size(groups.count));
        for (int& d : device) {
            d = pick(e.devices());
        }
        found now = priced(e, expand(groups, device));
        if (i == 0 || now.better_than(best)) {
            best = std::move(now);
        }
    }
    best.evaluations = evaluations;
    return best;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
