// SPDX-License-Identifier: Apache-2.0
// OptCNN's cost model with one choice for all operators of a kind, so that unrolled networks stay small enough for exact search: a start for
// local searches, and what they are compared with.
#pragma once

#include "tessera/search/groups.hpp"
#include "tessera/search/optcnn.hpp"
#include "tessera/search/variable_elimination.hpp"

namespace tessera::search {

/// A problem whose nodes are groups of another's nodes, which choose alike. The nodes of a group must have equally many configurations. `less`, if given:
/// what each configuration of each group costs less than the sum over its nodes.
template <class Problem>
additive_problem tied(const Problem& problem, const std::vector<int>& group_of, int groups,
                      const std::vector<std::vector<cost_t>>& less = {}) {
    std::vector<std::vector<cost_t>> unary(detail::at(groups));
    struct joined {
        int from = 0;
        int to = 0;
        std::vector<cost_t> costs;
    };
    std::vector<joined> edges;
    const auto accumulate = [](std::vector<cost_t>& sum, std::size_t i, cost_t x) { sum[i] = add_costs(sum[i], x); };
    for (int v = 0; v < problem.nodes(); ++v) {
        std::vector<cost_t>& mine = unary[detail::at(group_of[detail::at(v)])];
        mine.resize(problem.unary(v).size(), 0);
        for (std::size_t c = 0; c < mine.size(); ++c) {
            accumulate(mine, c, problem.unary(v)[c]);
        }
    }
    for (std::size_t v = 0; v < less.size(); ++v) {
        for (std::size_t c = 0; c < less[v].size(); ++c) {
            unary[v][c] -= unary[v][c] < forbidden ? less[v][c] : 0;
        }
    }
    for (int e = 0; e < problem.edges(); ++e) {
        const int from = group_of[detail::at(problem.edge(e).from)];
        const int to = group_of[detail::at(problem.edge(e).to)];
        const std::vector<cost_t>& table = problem.table(e);
        const std::size_t columns = unary[detail::at(to)].size();
        if (from == to) { // between steps of the same operator: the diagonal
            for (std::size_t c = 0; c < columns; ++c) {
                accumulate(unary[detail::at(to)], c, table[c * columns + c]);
            }
            continue;
        }
        std::size_t i = 0;
        while (i < edges.size() && (edges[i].from != from || edges[i].to != to)) {
            ++i;
        }
        if (i == edges.size()) {
            edges.push_back({from, to, std::vector<cost_t>(table.size(), 0)});
        }
        for (std::size_t c = 0; c < table.size(); ++c) {
            accumulate(edges[i].costs, c, table[c]);
        }
    }
    additive_problem result;
    for (std::vector<cost_t>& costs : unary) {
        result.add_node(std::move(costs));
    }
    for (joined& e : edges) {
        result.add_edge(e.from, e.to, std::move(e.costs));
    }
    return result;
}

/// Changes one node at a time to what is cheapest beside its neighbours until nothing gets cheaper: for problems too wide to be solved
/// exactly.
template <class Problem>
solution descend(const Problem& problem, std::vector<choice_t> choice) {
    std::vector<std::vector<int>> edges(detail::at(problem.nodes()));
    for (int e = 0; e < problem.edges(); ++e) {
        edges[detail::at(problem.edge(e).from)].push_back(e);
        edges[detail::at(problem.edge(e).to)].push_back(e);
    }
    for (bool better = true; better;) {
        better = false;
        for (int v = 0; v < problem.nodes(); ++v) {
            std::vector<cost_t> costs = problem.unary(v);
            for (int e : edges[detail::at(v)]) {
                const bool out = problem.edge(e).from == v;
                const std::size_t columns = detail::at(problem.configurations(problem.edge(e).to));
                const std::size_t other = choice[detail::at(out ? problem.edge(e).to : problem.edge(e).from)];
                for (std::size_t c = 0; c < costs.size(); ++c) {
                    costs[c] = add_costs(costs[c], problem.table(e)[out ? c * columns + other : other * columns + c]);
                }
            }
            const auto best = static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
            if (costs[best] < costs[choice[detail::at(v)]]) {
                choice[detail::at(v)] = static_cast<choice_t>(best);
                better = true;
            }
        }
    }
    const cost_t cost = problem.cost(choice);
    return {status::solved, cost, std::move(choice)};
}

struct tied_result {
    strategy best;
    cost_t cost = 0;         ///< ns per step in the model
    bool exact = false;      ///< by variable elimination; otherwise a local optimum
    elimination_width width; ///< of the problem with ties
    int groups = 0;
};

/// The cheapest strategy of OptCNN's model with one choice for all operators of a kind. The additive model charges a shared parameter to each of its users;
/// here it is synchronized once for each kind. Throws tessera::error for a machine without devices.
inline tied_result tied_optcnn(const graph_view& g, const machine& on, const optcnn_options& options = {},
                               std::int64_t relaxations = 1'000'000'000) {
    const operator_groups groups = group_operators(g);
    const optcnn_problem problem = make_optcnn_problem(g, on, options.offered);
    tied_result result;
    std::vector<int> first; // operator of each group; kinds whose operators differ in what they offer are parted
    std::vector<int> group_of;
    for (int op = 0; op < g.op_count; ++op) {
        const int kind = groups.kind_of[detail::at(op)];
        int group = -1;
        for (std::size_t i = 0; i < first.size(); ++i) {
            const bool alike = groups.kind_of[detail::at(first[i])] == kind &&
                               problem.configurations[detail::at(first[i])] == problem.configurations[detail::at(op)];
            group = alike ? static_cast<int>(i) : group;
        }
        if (group < 0) {
            group = static_cast<int>(first.size());
            first.push_back(op);
        }
        group_of.push_back(group);
    }
    result.groups = static_cast<int>(first.size());
    std::vector<std::vector<cost_t>> less;
    for (std::size_t i = 0; i < first.size(); ++i) {
        less.emplace_back();
        const auto users = std::count(group_of.begin(), group_of.end(), static_cast<int>(i));
        if (users > 1 && detail::starts_block(g.ops[first[i]])) {
            const cost::op_model m = cost::model_of(g, first[i]);
            for (const configuration& c : problem.configurations[detail::at(first[i])]) {
                less.back().push_back((users - 1) * cost::synchronization_time(m, c, nullptr, on));
            }
        }
    }
    const additive_problem small = tied(problem.costs, group_of, result.groups, less);
    variable_elimination_options limits;
    limits.budget = relaxations;
    limits.largest_table = relaxations / 10;
    variable_elimination_solution exact = eliminate_variables(small, limits);
    result.width = exact.order;
    result.exact = exact.state == status::solved;
    std::vector<choice_t> choice = exact.choice;
    if (!result.exact) {
        cost_t best = forbidden;
        for (const baseline b : {baseline::data_parallel, baseline::one_weird_trick, baseline::model_parallel}) {
            std::vector<choice_t> start;
            for (int op : first) {
                const std::vector<configuration>& offered = problem.configurations[detail::at(op)];
                const auto place =
                    std::find(offered.begin(), offered.end(), baseline_configuration(g, op, on.devices, b));
                start.push_back(static_cast<choice_t>(place == offered.end() ? 0 : place - offered.begin()));
            }
            solution found = descend(small, std::move(start));
            if (found.cost < best || choice.empty()) {
                best = found.cost;
                choice = std::move(found.choice);
            }
        }
    }
    result.cost = small.cost(choice);
    std::vector<choice_t> all;
    for (int group : group_of) {
        all.push_back(choice[detail::at(group)]);
    }
    result.best = problem.strategy_of(all);
    return result;
}

} // namespace tessera::search
