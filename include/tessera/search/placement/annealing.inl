// SPDX-License-Identifier: Apache-2.0
// Bodies of annealing.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/annealing.hpp"

namespace tessera::search::placement {

TESSERA_INLINE found anneal(evaluator& e, const annealing_options& o) {
    const double steps = static_cast<double>(std::max<std::int64_t>(2, o.evaluations));
    return detail::walk(e, o.groups, o.start, o.evaluations, o.first_temperature,
                        std::pow(o.last_temperature / o.first_temperature, 1 / steps), o.seed,
                        [](group_moves& moves, random_numbers& pick) { moves.move_some(pick); });
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
