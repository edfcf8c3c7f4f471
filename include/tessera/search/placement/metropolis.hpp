// SPDX-License-Identifier: Apache-2.0
// A Markov chain of Metropolis and Hastings over placements, as FlexFlow (Jia, Zaharia and Aiken, MLSys 2019) searches
// configurations; and plain trial of placements at random.
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
found metropolis(evaluator& e, const metropolis_options& o = {});

/// The best of placements drawn at random, every group on any device.
found at_random(evaluator& e, std::int64_t evaluations, std::uint64_t seed = 1, const grouping& together = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/metropolis.inl"
#endif

#include "tessera/base/end_header.inl"
