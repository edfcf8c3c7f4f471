// SPDX-License-Identifier: Apache-2.0
// Simulated annealing over placements (Kirkpatrick, Gelatt and Vecchi 1983).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/moves.hpp"

namespace tessera::search::placement {

struct annealing_options {
    std::int64_t evaluations = 100'000;
    double first_temperature = 0.05; ///< relative to the present price; falls geometrically
    double last_temperature = 0.0005;
    std::uint64_t seed = 1;
    grouping groups{};  ///< what moves together; empty: what has to
    assignment start{}; ///< empty: all on the device 0
};

/// The best placement that was seen. The same options give the same.
inline found anneal(evaluator& e, const annealing_options& o = {}) {
    const double steps = static_cast<double>(std::max<std::int64_t>(2, o.evaluations));
    return detail::walk(e, o.groups, o.start, o.evaluations, o.first_temperature,
                        std::pow(o.last_temperature / o.first_temperature, 1 / steps), o.seed,
                        [](group_moves& moves, random_numbers& pick) { moves.move_some(pick); });
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
