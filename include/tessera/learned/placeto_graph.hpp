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

    placeto_graph(const search::placement::cost_graph& g, const cluster& on, search::placement::grouping together)
        : prices(g, on),
          groups(together.of.empty() ? search::placement::required_groups(g, prices.order()) : std::move(together)),
          seen(group_graph_of(prices, groups)) {
        unit = reward_unit(prices);
        memory = most_memory(prices);
    }

    search::placement::found priced(const std::vector<int>& device) {
        return search::placement::priced(prices, search::placement::expand(groups, device));
    }
    double cost(const search::placement::found& f, double penalty) const {
        return penalized_step(f, unit, memory, penalty);
    }
    std::vector<int> at_random(search::random_numbers& pick) const {
        std::vector<int> device(static_cast<std::size_t>(groups.count));
        for (int& d : device) {
            d = pick(prices.devices());
        }
        return device;
    }
};

/// Returns of the steps of an episode, given the costs before its first step and after each.
inline std::vector<double> returns_of(std::span<const double> costs, placeto_rewards rewards, double discount) {
    const std::size_t steps = costs.size() - 1;
    std::vector<double> all(steps);
    double later = 0;
    for (std::size_t t = steps; t-- > 0;) {
        const double last = t + 1 == steps ? -costs[steps] : 0;
        const double reward = rewards == placeto_rewards::immediate ? costs[t] - costs[t + 1] : last;
        all[t] = later = reward + discount * later;
    }
    return all;
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
