// SPDX-License-Identifier: Apache-2.0
// Generated graphs on their machines, and tables of what places them, for the benchmarks of learned placement.
#pragma once

#include "tessera/learned/families.hpp"
#include "tessera/learned/ppo.hpp"
#include "tessera/search/placement/annealing.hpp"
#include "tessera/search/placement/cut_placement.hpp"
#include "tessera/search/placement/experts.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace benchmarks {

/// A graph on its machine, with what prices it.
struct placing {
    tessera::search::placement::cost_graph graph;
    tessera::cluster on;
    tessera::search::placement::evaluator prices;
    double unit; ///< ns: the work of all nodes on the first device

    placing(tessera::learned::family of, int number, int devices)
        : graph(tessera::learned::member(of, number)), on(tessera::learned::family_machine(graph, devices)),
          prices(graph, on), unit(tessera::learned::reward_unit(prices)) {}

    /// The step over the work of all nodes, plus twice the missing memory over a device's: Placeto's cost as it is by
    /// default.
    double cost(const tessera::search::placement::found& f) const {
        return tessera::learned::penalized_step(f, unit, tessera::learned::most_memory(prices), 2);
    }
};

/// Chains contracted to `most` groups; where more than `limit` are left, a cut by weight into `most`.
inline tessera::search::placement::grouping groups_of(placing& p, int most, int limit) {
    namespace sp = tessera::search::placement;
    sp::grouping chains = sp::chain_groups(p.graph, p.prices.order(), most);
    return chains.count <= limit ? chains : sp::cut_groups(p.prices, most);
}

/// Steps over the work of their graphs, of those that fit.
struct placed_cell {
    double sum = 0;
    int fit = 0;
    int all = 0;

    void add(const placing& p, const tessera::search::placement::found& f) {
        ++all;
        if (f.feasible() && !f.where.empty()) {
            sum += static_cast<double>(f.step) / p.unit;
            ++fit;
        }
    }
    void print() const {
        fit > 0 ? std::printf(" %.3f", sum / fit) : std::printf(" -");
        fit < all ? std::printf(" (%d of %d fit) |", fit, all) : std::printf(" |");
    }
};

inline void placed_row(const std::string& name, const std::vector<placed_cell>& cells) {
    std::printf("| %s |", name.c_str());
    for (const placed_cell& c : cells) {
        c.print();
    }
    std::printf("\n");
    std::fflush(stdout);
}

inline tessera::search::placement::found annealed(placing& p, std::int64_t evaluations, std::uint64_t seed) {
    tessera::search::placement::annealing_options o;
    o.evaluations = evaluations;
    o.seed = seed;
    o.start = tessera::search::placement::equal_times(p.prices).where;
    return tessera::search::placement::anneal(p.prices, o);
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace benchmarks
