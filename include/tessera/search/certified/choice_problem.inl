// SPDX-License-Identifier: Apache-2.0
// Bodies of choice_problem.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/choice_problem.hpp"

namespace tessera::search {

TESSERA_INLINE int choice_problem::add_node(std::span<const cost_t> costs, std::span<const std::int64_t> usages,
                                            live_range live) {
    if (costs.empty() || costs.size() > to_size(max_configurations)) {
        detail::refuse_node(nodes(), costs.empty() ? "has no choice; give it at least one cost"
                                                   : "has more than 65535 choices; offer fewer");
    }
    if (usages.size() != costs.size()) {
        detail::refuse_problem("node " + std::to_string(nodes()), "has " + std::to_string(costs.size()) +
                                                                      " costs but " + std::to_string(usages.size()) +
                                                                      " usages; give one for each choice");
    }
    for (const cost_t c : costs) {
        if (c < 0) {
            detail::refuse_node(nodes(), "has a negative cost; costs are at least 0");
        }
        costs_.push_back(std::min(c, forbidden));
    }
    for (const std::int64_t u : usages) {
        if (u < 0 || u > most_usage) {
            detail::refuse_node(nodes(), "has a usage below 0 or above 2^48; choose a larger unit");
        }
        usages_.push_back(u);
    }
    live_.push_back(live);
    first_choice_.push_back(costs_.size());
    return nodes() - 1;
}

TESSERA_INLINE int choice_problem::add_edge(int from, int to, std::span<const cost_t> table) {
    detail::require_ends(from, to, nodes());
    const std::size_t needed = to_size(choices(from)) * to_size(choices(to));
    if (table.size() != needed) {
        detail::refuse_table(from, to, table.size(), needed);
    }
    for (const cost_t c : table) {
        if (c < 0) {
            detail::refuse_edge(from, to, "has a negative cost; costs are at least 0");
        }
        cells_.push_back(std::min(c, forbidden));
    }
    ends_.push_back({from, to});
    first_cell_.push_back(cells_.size());
    return edges() - 1;
}

TESSERA_INLINE int choice_problem::choices(int node) const {
    return static_cast<int>(first_choice_[to_size(node) + 1] - first_choice_[to_size(node)]);
}

TESSERA_INLINE evaluation_of_choice evaluate(const choice_problem& p, std::span<const choice_t> choice) {
    if (choice.size() != to_size(p.nodes())) {
        detail::refuse_problem("choice", "names " + std::to_string(choice.size()) + " nodes, but the problem has " +
                                             std::to_string(p.nodes()));
    }
    evaluation_of_choice r;
    std::vector<std::pair<std::int64_t, std::int64_t>> changes; // (time, what comes or goes)
    for (int v = 0; v < p.nodes(); ++v) {
        const choice_t c = choice[to_size(v)];
        if (c >= p.choices(v)) {
            detail::refuse_node(v, "the choice names a configuration that it does not have");
        }
        r.cost = add_costs(r.cost, p.costs(v)[c]);
        if (!p.live(v).is_empty()) {
            changes.emplace_back(p.live(v).first, p.usages(v)[c]);
            changes.emplace_back(p.live(v).last, -p.usages(v)[c]);
        }
    }
    for (int e = 0; e < p.edges(); ++e) {
        const edge_ends ends = p.edge(e);
        r.cost = add_costs(
            r.cost,
            p.table(e)[to_size(choice[to_size(ends.from)]) * to_size(p.choices(ends.to)) + choice[to_size(ends.to)]]);
    }
    std::sort(changes.begin(), changes.end()); // what goes at a time comes first: ranges are half open
    std::int64_t used = 0;
    for (const auto& [time, change] : changes) {
        used += change;
        if (used > r.peak) {
            r.peak = used;
            r.peak_time = time;
        }
    }
    return r;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
