// SPDX-License-Identifier: Apache-2.0
// Node, edge and leaf eliminations against trying every choice, and how far they reduce known graphs.
#include "tessera/search/optcnn/eliminate.hpp"

#include "search/optcnn/random_problem.hpp"

#include <doctest/doctest.h>

namespace {

using namespace tests;

/// A problem with two configurations per node and random costs.
search::additive_problem graph(int nodes, const std::vector<search::edge_ends>& edges) {
    std::mt19937 random{11};
    search::additive_problem problem;
    for (int v = 0; v < nodes; ++v) {
        problem.add_node(random_costs(random, 2, 100, false));
    }
    for (const search::edge_ends& e : edges) {
        add_random_edge(problem, random, e.from, e.to, 100, false);
    }
    return problem;
}

search::additive_problem chain(int nodes) {
    std::vector<search::edge_ends> edges;
    for (int v = 0; v + 1 < nodes; ++v) {
        edges.push_back({v, v + 1});
    }
    return graph(nodes, edges);
}

search::elimination_statistics reduce(const search::additive_problem& problem, bool leaf_rule = false) {
    return search::eliminate(problem, {.leaf_rule = leaf_rule}).statistics;
}

TEST_CASE("elimination is exact, with and without the leaf rule") {
    int eliminated[3] = {};
    for (unsigned seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        const search::additive_problem problem = random_problem(seed, seed % 3 == 0 ? 3 : 1000);
        const search::exhaustive_solution expected = search::brute_force(problem);
        const search::exhaustive_solution pruned = search::exhaustive(problem);
        CHECK(pruned.cost == expected.cost);
        for (const bool leaf_rule : {false, true}) {
            CAPTURE(leaf_rule);
            const search::elimination_solution found = search::eliminate(problem, {.leaf_rule = leaf_rule});
            REQUIRE(found.state == expected.state);
            CHECK(found.cost == expected.cost);
            if (found.state == search::status::solved) {
                CHECK(problem.cost(found.choice) == found.cost);
            } else {
                CHECK(found.choice.empty());
            }
            const search::elimination_statistics& count = found.statistics;
            CHECK(count.remaining + count.node_eliminations + count.leaf_eliminations == problem.nodes());
            CHECK((leaf_rule || count.leaf_eliminations == 0));
            CHECK(search::eliminate(problem, {.leaf_rule = leaf_rule}).choice == found.choice);
            eliminated[0] += count.node_eliminations;
            eliminated[1] += count.edge_eliminations;
            eliminated[2] += count.leaf_eliminations;
        }
    }
    for (const int count : eliminated) {
        CHECK(count > 100);
    }
}

TEST_CASE("chains reduce to two nodes, as in the paper, and to one with the leaf rule") {
    for (const int nodes : {11, 21}) { // AlexNet, VGG-16
        const search::elimination_statistics count = reduce(chain(nodes));
        CHECK(count.remaining == 2);
        CHECK(count.node_eliminations == nodes - 2);
        CHECK(count.edge_eliminations == 0);
        CHECK(count.relaxations == 8 * (nodes - 2));
        const search::elimination_statistics leaves = reduce(chain(nodes), true);
        CHECK(leaves.remaining == 1);
        CHECK(leaves.leaf_eliminations == nodes - 1);
        CHECK(leaves.relaxations == 4 * (nodes - 1));
    }
    CHECK(reduce(chain(1)).remaining == 1);
    CHECK(reduce(chain(2)).remaining == 2);
}

TEST_CASE("diamonds, shortcuts and parallel edges reduce to two nodes") {
    const search::elimination_statistics diamond = reduce(graph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
    CHECK(diamond.remaining == 2);
    CHECK(diamond.node_eliminations == 2);
    CHECK(diamond.edge_eliminations == 1);
    const search::elimination_statistics shortcut = reduce(graph(5, {{0, 1}, {1, 2}, {2, 3}, {1, 3}, {3, 4}}));
    CHECK(shortcut.remaining == 2);
    CHECK(shortcut.edge_eliminations == 1);
    const search::elimination_statistics parallel = reduce(graph(2, {{0, 1}, {0, 1}, {0, 1}}));
    CHECK(parallel.remaining == 2);
    CHECK(parallel.edge_eliminations == 2);
}

TEST_CASE("what no elimination removes is enumerated") {
    // Two unrolled layers of three steps: no node has one edge in and one out, except the corners.
    const search::additive_problem grid = graph(6, {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {0, 3}, {1, 4}, {2, 5}});
    const search::elimination_solution found = search::eliminate(grid, {.leaf_rule = false});
    CHECK(found.statistics.remaining == 4);
    CHECK(found.cost == search::brute_force(grid).cost);
    CHECK(reduce(hard_problem(6, 3), true).remaining == 6);
    // Opposite edges are not parallel, and a cycle of two is left alone.
    const search::additive_problem cycle = graph(2, {{0, 1}, {1, 0}});
    CHECK(reduce(cycle, true).remaining == 2);
    CHECK(search::eliminate(cycle).cost == search::brute_force(cycle).cost);
}

TEST_CASE("components are enumerated one by one") {
    search::additive_problem problem;
    std::mt19937 random{3};
    for (int part = 0; part < 40; ++part) {
        problem.add_node(random_costs(random, 5, 1000, false));
        problem.add_node(random_costs(random, 5, 1000, false));
        add_random_edge(problem, random, 2 * part, 2 * part + 1, 1000, false);
    }
    const search::elimination_solution paper = search::eliminate(problem, {.leaf_rule = false});
    const search::elimination_solution leaf = search::eliminate(problem);
    CHECK(paper.statistics.remaining == 80);
    CHECK(leaf.statistics.remaining == 40);
    CHECK(paper.statistics.visited < 40 * 100);
    CHECK(paper.state == search::status::solved);
    CHECK(paper.cost == leaf.cost);
}

TEST_CASE("equal candidates: the smallest index wins") {
    search::additive_problem problem;
    for (int v = 0; v < 5; ++v) {
        problem.add_node({4, 4, 4});
    }
    for (int v = 0; v < 4; ++v) {
        problem.add_edge(v, v + 1, std::vector<search::cost_t>(9, 1));
    }
    for (const bool leaf_rule : {false, true}) {
        CHECK(search::eliminate(problem, {.leaf_rule = leaf_rule}).choice == std::vector<search::choice_t>(5, 0));
    }
}

TEST_CASE("a budget ends the search") {
    const search::additive_problem problem = chain(20);
    const search::elimination_solution all = search::eliminate(problem, {.leaf_rule = false});
    const std::int64_t needed = all.statistics.relaxations + all.statistics.visited;
    CHECK(search::eliminate(problem, {.leaf_rule = false, .budget = needed}).state == search::status::solved);
    const search::elimination_solution early = search::eliminate(problem, {.leaf_rule = false, .budget = 50});
    CHECK(early.state == search::status::budget_exhausted);
    CHECK(early.choice.empty());
    const search::additive_problem hard = hard_problem(9, 4);
    const search::elimination_solution late = search::eliminate(hard, {.budget = 100});
    CHECK(late.state == search::status::budget_exhausted);
    CHECK(hard.cost(late.choice) == late.cost);
}

TEST_CASE("without an allowed choice the problem is infeasible") {
    search::additive_problem problem;
    problem.add_node({1, 2});
    problem.add_node({1, search::forbidden});
    problem.add_node({1, 2});
    problem.add_edge(0, 1, {search::forbidden, 0, search::forbidden, 0});
    problem.add_edge(1, 2, {0, 0, 0, 0});
    for (const bool leaf_rule : {false, true}) {
        const search::elimination_solution found = search::eliminate(problem, {.leaf_rule = leaf_rule});
        CHECK(found.state == search::status::infeasible);
        CHECK(found.choice.empty());
    }
    CHECK(search::eliminate(search::additive_problem{}).state == search::status::solved);
}

} // namespace
