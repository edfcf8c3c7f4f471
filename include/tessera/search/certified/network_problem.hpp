// SPDX-License-Identifier: Apache-2.0
// Cost tables of a network with what every choice holds in memory, as a problem of one choice a node.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/certified.hpp"
#include "tessera/search/held_bytes.hpp"
#include "tessera/search/optcnn/optcnn.hpp"

namespace tessera::search {

/// Outputs, parameters, gradients and optimizer state live together when forward ends: one point of time for all nodes.
/// `usages[op][c]` are the bytes of choice c of an operator.
inline choice_problem with_memory(const additive_problem& costs, const std::vector<std::vector<std::int64_t>>& usages,
                                  std::int64_t limit) {
    choice_problem p;
    p.limit = limit;
    for (int v = 0; v < costs.nodes(); ++v) {
        p.add_node(costs.unary(v), usages[detail::at(v)], {0, 1});
    }
    for (int e = 0; e < costs.edges(); ++e) {
        p.add_edge(costs.edge(e).from, costs.edge(e).to, costs.table(e));
    }
    return p;
}

/// Bytes that a choice of every operator holds.
inline std::int64_t used_by(const std::vector<std::vector<std::int64_t>>& usages, const std::vector<choice_t>& choice) {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < usages.size(); ++v) {
        sum += usages[v][choice[v]];
    }
    return sum;
}

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
inline modelled_choice solve_modelled(const additive_problem& costs,
                                      const std::vector<std::vector<std::int64_t>>& usages, std::int64_t limit,
                                      const modelled_options& o = {}) {
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
