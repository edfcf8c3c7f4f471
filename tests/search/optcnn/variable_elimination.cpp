// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/variable_elimination.hpp"

#include "examples/networks.hpp"
#include "tessera/search/exhaustive/exhaustive.hpp"
#include "tessera/search/optcnn/eliminate.hpp"
#include "tessera/search/optcnn/optcnn.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

namespace ts = tessera;
using ts::search::additive_problem;

additive_problem random_problem(std::mt19937& random, int nodes, int edges, int configurations) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    additive_problem p;
    for (int v = 0; v < nodes; ++v) {
        std::vector<ts::search::cost_t> costs;
        for (int c = 1 + below(configurations); c > 0; --c) {
            costs.push_back(below(20) == 0 ? ts::search::forbidden : below(100));
        }
        p.add_node(costs);
    }
    for (int e = 0; e < edges; ++e) {
        const int a = below(nodes);
        const int b = below(nodes);
        if (a == b) {
            continue;
        }
        std::vector<ts::search::cost_t> table;
        for (int i = 0; i < p.configurations(a) * p.configurations(b); ++i) {
            table.push_back(below(15) == 0 ? ts::search::forbidden : below(100));
        }
        p.add_edge(a, b, table);
    }
    return p;
}

/// Every choice, one after the other.
ts::search::cost_t brute_force(const additive_problem& p) {
    std::vector<ts::search::choice_t> choice(ts::to_size(p.nodes()), 0);
    ts::search::cost_t best = ts::search::forbidden;
    while (true) {
        best = std::min(best, p.cost(choice));
        int v = p.nodes() - 1;
        for (; v >= 0; --v) {
            auto& c = choice[ts::to_size(v)];
            if (++c < p.configurations(v)) {
                break;
            }
            c = 0;
        }
        if (v < 0) {
            return best;
        }
    }
}

/// A problem of a graph's shape: two configurations each, no costs.
additive_problem shape_of(int nodes, const std::vector<std::pair<int, int>>& edges) {
    additive_problem p;
    for (int v = 0; v < nodes; ++v) {
        p.add_node({0, 0});
    }
    for (const auto& [a, b] : edges) {
        p.add_edge(a, b, {0, 0, 0, 0});
    }
    return p;
}

} // namespace

TEST_CASE("variable elimination: equals brute force on 500 random graphs") {
    std::mt19937 random(5);
    int infeasible = 0;
    int wide = 0;
    for (int trial = 0; trial < 500; ++trial) {
        const int nodes = 1 + static_cast<int>(random() % 8);
        const additive_problem p = random_problem(random, nodes, static_cast<int>(random() % 16), 4);
        const auto found = ts::search::eliminate_variables(p);
        const auto best = brute_force(p);
        REQUIRE(found.cost == best);
        infeasible += best >= ts::search::forbidden ? 1 : 0;
        wide += found.order.width > 2 ? 1 : 0;
        if (best < ts::search::forbidden) {
            REQUIRE(p.cost(found.choice) == best);
            REQUIRE(found.state == ts::search::status::solved);
        } else {
            REQUIRE(found.state == ts::search::status::infeasible);
        }
    }
    CHECK(infeasible > 5);
    CHECK(wide > 20);
}

TEST_CASE("variable elimination: the same optimum as OptCNN's eliminations on networks") {
    const ts::machine on = ts::machines::p100_cluster(4);
    for (const ts::graph& g : {ts::describe<networks::lenet5>(64), ts::describe<networks::alexnet>(64)}) {
        const auto problem = ts::search::make_optcnn_problem(g.view(), on);
        const auto found = ts::search::eliminate_variables(problem.costs);
        CHECK(found.cost == ts::search::eliminate(problem.costs).cost);
        CHECK(found.order.width == 1); // chains
    }
}

TEST_CASE("variable elimination: widths of known graphs") {
    std::vector<std::pair<int, int>> edges;
    for (int v = 0; v + 1 < 20; ++v) {
        edges.push_back({v, v + 1});
    }
    CHECK(ts::search::min_fill_order(shape_of(20, edges)).width == 1); // a chain
    edges.push_back({0, 19});
    CHECK(ts::search::min_fill_order(shape_of(20, edges)).width == 2); // a ring
    edges.clear();
    for (int a = 0; a < 6; ++a) {
        for (int b = 0; b < a; ++b) {
            edges.push_back({a, b});
        }
    }
    CHECK(ts::search::min_fill_order(shape_of(6, edges)).width == 5); // a clique
    for (const int layers : {2, 4}) { // a grid, as an unrolled recurrent network's cells make
        edges.clear();
        for (int l = 0; l < layers; ++l) {
            for (int t = 0; t < 40; ++t) {
                if (l > 0) {
                    edges.push_back({(l - 1) * 40 + t, l * 40 + t});
                }
                if (t > 0) {
                    edges.push_back({l * 40 + t - 1, l * 40 + t});
                }
            }
        }
        CHECK(ts::search::min_fill_order(shape_of(40 * layers, edges)).width == layers);
    }
}

TEST_CASE("variable elimination: a width beyond the limits is reported, not tried") {
    std::vector<std::pair<int, int>> edges;
    for (int a = 0; a < 40; ++a) {
        for (int b = 0; b < a; ++b) {
            edges.push_back({a, b});
        }
    }
    const auto found = ts::search::eliminate_variables(shape_of(40, edges));
    CHECK(found.state == ts::search::status::budget_exhausted);
    CHECK(found.order.width == 39);
    CHECK(found.choice.empty());
}
