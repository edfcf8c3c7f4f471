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
found anneal(evaluator& e, const annealing_options& o = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/annealing.inl"
#endif

#include "tessera/base/end_header.inl"
