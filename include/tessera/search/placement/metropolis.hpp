// SPDX-License-Identifier: Apache-2.0
// A Markov chain of Metropolis and Hastings over placements, as FlexFlow (Jia, Zaharia and Aiken, MLSys 2019) searches configurations; and plain trial of
// placements at random.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/moves.hpp"

namespace tessera::search::placement {

struct metropolis_options {
    std::int64_t evaluations = 100'000;
    double temperature = 0.01; ///< relative to the present price, always the same
    std::uint64_t seed = 1;
    grouping groups{};  ///< what moves together; empty: what has to
    assignment start{}; ///< empty: all on the device 0
};

/// The best placement that the chain has seen; every proposal moves one group to a device, both at random.
inline found metropolis(evaluator& e, const metropolis_options& o = {}) {
    return detail::walk(e, o.groups, o.start, o.evaluations, o.temperature, 1, o.seed,
                        [](group_moves& moves, random_numbers& pick) { moves.move_one(pick); });
}

/// The best of placements drawn at random, every group on any device.
inline found at_random(evaluator& e, std::int64_t evaluations, std::uint64_t seed = 1, const grouping& together = {}) {
    const grouping groups = together.of.empty() ? required_groups(e.graph(), e.order()) : together;
    random_numbers pick{seed};
    found best;
    for (std::int64_t i = 0; i < evaluations; ++i) {
        std::vector<int> device(detail::at(groups.count));
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
