// SPDX-License-Identifier: Apache-2.0
// Bodies of placeto_graph.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/placeto_graph.hpp"

namespace tessera::learned {

TESSERA_INLINE placeto_graph::placeto_graph(const search::placement::cost_graph& g, const cluster& on,
                                            search::placement::grouping together)
    : prices(g, on),
      groups(together.of.empty() ? search::placement::required_groups(g, prices.order()) : std::move(together)),
      seen(group_graph_of(prices, groups)) {
    unit = reward_unit(prices);
    memory = most_memory(prices);
}

TESSERA_INLINE search::placement::found placeto_graph::priced(const std::vector<int>& device) {
    return search::placement::priced(prices, search::placement::expand(groups, device));
}

TESSERA_INLINE double placeto_graph::cost(const search::placement::found& f, double penalty) const {
    return penalized_step(f, unit, memory, penalty);
}

TESSERA_INLINE std::vector<int> placeto_graph::at_random(search::random_numbers& pick) const {
    std::vector<int> device(to_size(groups.count));
    for (int& d : device) {
        d = pick(prices.devices());
    }
    return device;
}

TESSERA_INLINE std::vector<double> returns_of(std::span<const double> costs, placeto_rewards rewards, double discount) {
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
