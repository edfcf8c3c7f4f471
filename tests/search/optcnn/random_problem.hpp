// SPDX-License-Identifier: Apache-2.0
// Random small problems for the tests of the searches.
#pragma once

#include "tessera/search/optcnn/additive_problem.hpp"

#include <random>

namespace tests {

namespace ts = tessera;
namespace search = tessera::search;

inline std::vector<search::cost_t> random_costs(std::mt19937& random, int count, int range, bool forbid) {
    std::vector<search::cost_t> costs;
    for (int i = 0; i < count; ++i) {
        const auto cost = static_cast<search::cost_t>(random() % static_cast<unsigned>(range));
        costs.push_back(forbid && random() % 5 == 0 ? search::forbidden : cost);
    }
    return costs;
}

inline void add_random_edge(search::additive_problem& problem, std::mt19937& random, int from, int to, int range,
                            bool forbid) {
    const int cells = problem.configurations(from) * problem.configurations(to);
    problem.add_edge(from, to, random_costs(random, cells, range, forbid));
}

/// 1 to 8 nodes with 1 to 5 configurations, edges from lower to higher nodes (seeds divisible by 10: in any direction),
/// some parallel, some nodes with none; a small range makes ties. Every fourth problem forbids a fifth of the costs.
inline search::additive_problem random_problem(unsigned seed, int range) {
    std::mt19937 random{seed};
    search::additive_problem problem;
    const int nodes = 1 + static_cast<int>(random() % 8);
    const int most = nodes > 6 ? 3 : 5;
    const bool forbid = seed % 4 == 3;
    for (int v = 0; v < nodes; ++v) {
        const int configurations = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
        problem.add_node(random_costs(random, configurations, range, forbid));
    }
    const int edges = nodes == 1 ? 0 : static_cast<int>(random() % static_cast<unsigned>(2 * nodes));
    for (int e = 0; e < edges; ++e) {
        int from = static_cast<int>(random() % static_cast<unsigned>(nodes - 1));
        int to = from + 1 + static_cast<int>(random() % static_cast<unsigned>(nodes - 1 - from));
        if (random() % 2 == 0) {
            to = from + 1; // chains, with parallel edges
        }
        if (seed % 10 == 0 && random() % 2 == 0) {
            std::swap(from, to);
        }
        add_random_edge(problem, random, from, to, range, forbid);
    }
    return problem;
}

/// Every node joined with every other: no elimination applies.
inline search::additive_problem hard_problem(int nodes, int configurations) {
    std::mt19937 random{7};
    search::additive_problem problem;
    for (int v = 0; v < nodes; ++v) {
        problem.add_node(random_costs(random, configurations, 1000, false));
    }
    for (int from = 0; from < nodes; ++from) {
        for (int to = from + 1; to < nodes; ++to) {
            add_random_edge(problem, random, from, to, 1000, false);
        }
    }
    return problem;
}

} // namespace tests
