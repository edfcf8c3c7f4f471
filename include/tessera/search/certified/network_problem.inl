// SPDX-License-Identifier: Apache-2.0
// Bodies of network_problem.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/network_problem.hpp"

namespace tessera::search {

TESSERA_INLINE choice_problem with_memory(const additive_problem& costs,
                                          const std::vector<std::vector<std::int64_t>>& usages, std::int64_t limit) {
    choice_problem p;
    p.limit = limit;
    for (int v = 0; v < costs.nodes(); ++v) {
        p.add_node(costs.unary(v), usages[to_size(v)], {0, 1});
    }
    for (int e = 0; e < costs.edges(); ++e) {
        p.add_edge(costs.edge(e).from, costs.edge(e).to, costs.table(e));
    }
    return p;
}

TESSERA_INLINE std::int64_t used_by(const std::vector<std::vector<std::int64_t>>& usages,
                                    const std::vector<choice_t>& choice) {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < usages.size(); ++v) {
        sum += usages[v][choice[v]];
    }
    return sum;
}

TESSERA_INLINE modelled_choice solve_modelled(const additive_problem& costs,
                                              const std::vector<std::vector<std::int64_t>>& usages, std::int64_t limit,
                                              const modelled_options& o) {
    modelled_choice r;
    std::int64_t least = 0;
    for (const std::vector<std::int64_t>& u : usages) {
        least += *std::min_element(u.begin(), u.end());
    }
    if (least > limit) {
        r.state = status::infeasible;
        r.least_used = least;
        return r;
    }
    cost_t without_memory = 0;
    variable_elimination_solution exact = eliminate_variables(costs, o.exact);
    if (exact.state == status::solved) {
        without_memory = exact.cost;
        r.used = used_by(usages, exact.choice);
        if (r.used <= limit) {
            r.state = status::solved;
            r.cost = r.bound = exact.cost;
            r.choice = std::move(exact.choice);
            return r;
        }
    }
    const choice_problem p = with_memory(costs, usages, limit);
    certified_result found = solve_certified(p, o.shortly);
    found.bound = std::max(found.bound, without_memory);
    if (found.state == status::budget_exhausted && found.gap() > o.enough) {
        certified_result longer = solve_certified(p, o.otherwise);
        const cost_t bound = std::max(found.bound, longer.bound);
        if (found.choice.empty() || (!longer.choice.empty() && longer.value.cost <= found.value.cost)) {
            found = std::move(longer);
        }
        found.bound = bound;
    }
    r.state = found.state;
    r.bound = found.bound;
    r.cost = found.value.cost;
    r.used = found.value.peak;
    r.choice = std::move(found.choice);
    r.least_used = found.least_peak;
    return r;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
