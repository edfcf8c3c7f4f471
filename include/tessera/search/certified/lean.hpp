// SPDX-License-Identifier: Apache-2.0
// Strategies that need little memory, whatever the devices have: what a search falls back on, and by which it says how
// much memory would do.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/network_problem.hpp"
#include "tessera/search/finished_step.hpp"

#include <utility>

namespace tessera::search {

/// A choice for every operator, and what its plan takes.
struct lean_strategy {
    std::vector<choice_t> choice;
    cost_t cost = 0;            ///< ns of a step under the model
    std::int64_t used = 0;      ///< bytes by the model
    std::vector<index_t> bytes; ///< of every device, of the plan: arena and persistent
};

struct lean_strategies {
    std::vector<lean_strategy> all;

    /// With so much memory on every device one of them fits.
    index_t least_bytes() const;
    /// Null: none fits.
    const lean_strategy* cheapest_that_fits(const cluster& on) const;
};

namespace detail {

/// The cheapest choice where a byte of memory costs `price`/1000 ns: exactly where tables stay small, else a local
/// optimum from the least memory.
template <class Problem>
std::vector<choice_t> cheapest_at(const Problem& costs, const std::vector<std::vector<std::int64_t>>& usages,
                                  std::int64_t price, const modelled_options& o) {
    additive_problem priced;
    std::vector<choice_t> start;
    for (int v = 0; v < costs.nodes(); ++v) {
        const std::vector<std::int64_t>& used = usages[to_size(v)];
        std::vector<cost_t> unary = costs.unary(v);
        for (std::size_t c = 0; c < unary.size(); ++c) {
            unary[c] = add_costs(unary[c],
                                 static_cast<cost_t>(static_cast<double>(used[c]) * static_cast<double>(price) / 1000));
        }
        priced.add_node(std::move(unary));
        start.push_back(static_cast<choice_t>(std::min_element(used.begin(), used.end()) - used.begin()));
    }
    for (int e = 0; e < costs.edges(); ++e) {
        priced.add_edge(costs.edge(e).from, costs.edge(e).to, costs.table(e));
    }
    variable_elimination_solution exact = eliminate_variables(priced, o.exact);
    return exact.state == status::solved ? std::move(exact.choice) : descend(priced, std::move(start)).choice;
}

/// The choice of every operator that splits it as a baseline does; nothing where one is not offered.
template <class Problem>
std::vector<choice_t> choice_of(const graph_view& g, const Problem& problem, int devices, baseline which) {
    std::vector<choice_t> choice;
    for (int op = 0; op < g.op_count; ++op) {
        const std::vector<configuration>& offered = problem.configurations[to_size(op)];
        const auto found = std::find(offered.begin(), offered.end(), baseline_configuration(g, op, devices, which));
        if (found == offered.end()) {
            return {};
        }
        choice.push_back(static_cast<choice_t>(found - offered.begin()));
    }
    return choice;
}

} // namespace detail

/// The cheapest strategies for a series of prices of memory, from next to nothing to more than anything else, the
/// baselines, and what the plan of each needs. They depend on the network, the machine's speeds and the optimizer
/// alone, and not on how much memory the devices have.
template <class Problem>
lean_strategies make_lean_strategies(const graph_view& g, const cluster& on, const Problem& problem,
                                     const std::vector<std::vector<std::int64_t>>& usages,
                                     const lower_options& lowering, const modelled_options& o = {}) {
    lean_strategies r;
    const auto add = [&](std::vector<choice_t> choice) {
        for (const lean_strategy& x : r.all) {
            if (x.choice == choice) {
                return;
            }
        }
        if (choice.empty()) {
            return;
        }
        lean_strategy x;
        x.cost = problem.costs.cost(choice);
        x.used = used_by(usages, choice);
        plan p = bound_plan(g, problem.strategy_of(choice), on.devices(), lowering);
        plan_memory(p);
        for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
            x.bytes.push_back(p.arena_bytes[d] + p.persistent_bytes[d]);
        }
        x.choice = std::move(choice);
        r.all.push_back(std::move(x));
    };
    for (const baseline b : {baseline::data_parallel, baseline::model_parallel, baseline::one_weird_trick}) {
        add(detail::choice_of(g, problem, on.devices(), b));
    }
    // A link of 100 MB/s moves a byte in 10 ns, one of 900 GB/s in a thousandth: memory that costs from a hundredth of
    // the one to ten times the other.
    for (std::int64_t price = 1; price <= 1'000'000; price *= 10) {
        add(detail::cheapest_at(problem.costs, usages, price, o));
    }
    return r;
}

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/lean.inl"
#endif

#include "tessera/base/end_header.inl"
