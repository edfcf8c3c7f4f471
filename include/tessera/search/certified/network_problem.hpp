// SPDX-License-Identifier: Apache-2.0
// Cost tables of a network with what every choice holds in memory, as a problem of one choice a node.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/certified.hpp"
#include "tessera/search/optcnn/optcnn.hpp"
#include "tessera/search/resident_bytes.hpp"

namespace tessera::search {

/// Outputs, parameters, gradients and optimizer state live together when forward ends: one point of time for all nodes.
/// `usages[op][c]` are the bytes of choice c of an operator.
choice_problem with_memory(const additive_problem& costs, const std::vector<std::vector<std::int64_t>>& usages,
                           std::int64_t limit);

/// Bytes that a choice of every operator holds.
std::int64_t used_by(const std::vector<std::vector<std::int64_t>>& usages, const std::vector<choice_t>& choice);

struct modelled_options {
    variable_elimination_options exact{20'000'000, 1'000'000'000}; ///< where it is enough, and what it finds fits
    /// Else the certified solver: first shortly, and where that leaves a gap of more than `enough`, at length.
    certified_options shortly{.rounds = 4, .round_work = 2'000'000, .finish_steps = 0};
    certified_options otherwise{.rounds = 16, .round_work = 50'000'000};
    double enough = 0.005;
};

/// A choice of every operator under a model of costs with memory, and a bound.
struct modelled_choice {
    status state =
        status::budget_exhausted;   ///< solved: the cheapest of all that fit; infeasible: proved that none fits
    std::vector<choice_t> choice{}; ///< empty where none that fits was found
    cost_t cost = 0;
    cost_t bound = 0;            ///< no choice that fits costs less
    std::int64_t used = 0;       ///< bytes of the choice
    std::int64_t least_used = 0; ///< a limit that would do, where nothing was found to fit
};

/// The cheapest choice whose operators hold `limit` bytes together at most: exactly by variable elimination where its
/// tables stay small and what it finds fits, else with a bound by solve_certified().
modelled_choice solve_modelled(const additive_problem& costs, const std::vector<std::vector<std::int64_t>>& usages,
                               std::int64_t limit, const modelled_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/network_problem.inl"
#endif

#include "tessera/base/end_header.inl"
