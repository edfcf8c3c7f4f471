// SPDX-License-Identifier: Apache-2.0
// A graph that Placeto places: its prices, its groups, and episodes on it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/graph_batch.hpp"
#include "tessera/learned/group_graph.hpp"
#include "tessera/learned/placeto_options.hpp"
#include "tessera/learned/ppo.hpp"

namespace tessera::learned {

struct placeto_graph {
    search::placement::evaluator prices;
    search::placement::grouping groups;
    group_graph seen;  ///< by the policy
    double unit = 1;   ///< ns: the work of all nodes on the first device
    double memory = 1; ///< bytes of the device that has the most

    placeto_graph(const search::placement::cost_graph& g, const cluster& on, search::placement::grouping together);

    search::placement::found priced(const std::vector<int>& device);
    double cost(const search::placement::found& f, double penalty) const;
    std::vector<int> at_random(search::random_numbers& pick) const;
};

/// Returns of the steps of an episode, given the costs before its first step and after each.
std::vector<double> returns_of(std::span<const double> costs, placeto_rewards rewards, double discount);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/placeto_graph.inl"
#endif

#include "tessera/base/end_header.inl"
