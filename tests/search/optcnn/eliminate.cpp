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

/// A random problem whose nodes and edges are often like ones before, as those of deep networks are.
search::additive_problem random_repetitions(unsigned seed, search::cost_t scale) {
    std::mt19937 random{seed};
    const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    search::additive_problem problem;
    const int nodes = 4 + below(5);
    for (int v = 0; v < nodes; ++v) {
        if (v > 1 && below(3) > 0) {
            problem.add_node_like(below(v));
            continue;
        }
        std::vector<search::cost_t> costs = random_costs(random, 1 + below(3), 9, seed % 4 == 3);
        for (search::cost_t& c : costs) {
            c *= c < search::forbidden ? scale : 1;
        }
        problem.add_node(costs);
    }
    for (int to = 1; to < nodes; ++to) {
        for (int n = 1 + (below(4) == 0 ? 1 : 0); n > 0; --n) {
            const int from = below(3) == 0 ? below(to) : to - 1;
            int like = -1;
            for (int e = 0; e < problem.edges(); ++e) {
                const bool fits = problem.configurations(problem.edge(e).from) == problem.configurations(from) &&
                                  problem.configurations(problem.edge(e).to) == problem.configurations(to);
                like = fits && below(2) == 0 ? e : like;
            }
            if (like >= 0) {
                problem.add_edge_like(from, to, like);
            } else {
                add_random_edge(problem, random, from, to, 9, seed % 4 == 3);
            }
        }
    }
    return problem;
}

TEST_CASE("elimination is exact where nodes and edges are alike, and where costs are more than doubles tell apart") {
    int shared = 0;
    for (unsigned seed = 0; seed < 600; ++seed) {
        CAPTURE(seed);
        // 2^54 + 1 is no double: were it taken for one, ties would be broken wrongly.
        const search::cost_t scale = seed % 3 == 0 ? (search::cost_t{1} << 54) + 1 : 1;
        const search::additive_problem problem = random_repetitions(seed, scale);
        const search::exhaustive_solution expected = search::brute_force(problem);
        const search::elimination_solution found = search::eliminate(problem, {.leaf_rule = seed % 2 == 0});
        REQUIRE(found.state == expected.state);
        REQUIRE(found.cost == expected.cost);
        CHECK((found.state != search::status::solved || problem.cost(found.choice) == found.cost));
        shared += problem.tables() < problem.edges() ? 1 : 0;
    }
    CHECK(shared > 300);
}

TEST_CASE("an edge like another is refused where its nodes have other numbers of configurations") {
    search::additive_problem problem;
    problem.add_node({1, 2});
    problem.add_node({1, 2, 3});
    problem.add_node_like(0);
    problem.add_edge(0, 1, {1, 2, 3, 4, 5, 6});
    CHECK(problem.add_edge_like(2, 1, 0) == 1);
    CHECK(problem.table(1) == problem.table(0));
    CHECK(problem.tables() == 1);
    CHECK_THROWS_WITH_AS(
        problem.add_edge_like(1, 0, 0),
        "tessera::search: edge from node 1 to node 0: the cost table has 2 rows and 3 columns but needs 3 and 2; "
        "give the edge a table of its own",
        ts::error);
    CHECK_THROWS_WITH_AS(
        problem.add_edge_like(0, 2, 5),
        "tessera::search: edge from node 0 to node 2: is to be like edge 5, and there are only 2 edges", ts::error);
    CHECK_THROWS_WITH_AS(problem.add_node_like(3),
                         "tessera::search: node 3: is to be repeated, and there are only 3 nodes", ts::error);
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
