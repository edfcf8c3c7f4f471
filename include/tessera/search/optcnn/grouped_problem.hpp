// SPDX-License-Identifier: Apache-2.0
// Additive problems too wide to be solved exactly: one choice for groups of nodes, and changes of one node at a time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/additive_problem.hpp"

#include <algorithm>

namespace tessera::search {

/// A problem whose nodes are groups of another's nodes, which choose alike. The nodes of a group must have equally many
/// configurations. `less`, if given: what each configuration of each group costs less than the sum over its nodes.
template <class Problem>
additive_problem grouped(const Problem& problem, const std::vector<int>& group_of, int groups,
                         const std::vector<std::vector<cost_t>>& less = {}) {
    std::vector<std::vector<cost_t>> unary(to_size(groups));
    struct joined {
        int from = 0;
        int to = 0;
        std::vector<cost_t> costs;
    };
    std::vector<joined> edges;
    const auto accumulate = [](std::vector<cost_t>& sum, std::size_t i, cost_t x) { sum[i] = add_costs(sum[i], x); };
    for (int v = 0; v < problem.nodes(); ++v) {
        std::vector<cost_t>& mine = unary[to_size(group_of[to_size(v)])];
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
        const int from = group_of[to_size(problem.edge(e).from)];
        const int to = group_of[to_size(problem.edge(e).to)];
        const std::vector<cost_t>& table = problem.table(e);
        const std::size_t columns = unary[to_size(to)].size();
        if (from == to) { // between steps of the same operator: the diagonal
            for (std::size_t c = 0; c < columns; ++c) {
                accumulate(unary[to_size(to)], c, table[c * columns + c]);
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

/// Changes one node at a time to what is cheapest beside its neighbours until nothing gets cheaper: for problems too
/// wide to be solved exactly.
template <class Problem>
solution descend(const Problem& problem, std::vector<choice_t> choice) {
    std::vector<std::vector<int>> edges(to_size(problem.nodes()));
    for (int e = 0; e < problem.edges(); ++e) {
        edges[to_size(problem.edge(e).from)].push_back(e);
        edges[to_size(problem.edge(e).to)].push_back(e);
    }
    for (bool better = true; better;) {
        better = false;
        for (int v = 0; v < problem.nodes(); ++v) {
            std::vector<cost_t> costs = problem.unary(v);
            for (int e : edges[to_size(v)]) {
                const bool out = problem.edge(e).from == v;
                const std::size_t columns = to_size(problem.configurations(problem.edge(e).to));
                const std::size_t other = choice[to_size(out ? problem.edge(e).to : problem.edge(e).from)];
                for (std::size_t c = 0; c < costs.size(); ++c) {
                    costs[c] = add_costs(costs[c], problem.table(e)[out ? c * columns + other : other * columns + c]);
                }
            }
            const auto best = to_size(std::min_element(costs.begin(), costs.end()) - costs.begin());
            if (costs[best] < costs[choice[to_size(v)]]) {
                choice[to_size(v)] = static_cast<choice_t>(best);
                better = true;
            }
        }
    }
    const cost_t cost = problem.cost(choice);
    return {status::solved, cost, std::move(choice)};
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
