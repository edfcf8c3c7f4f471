// SPDX-License-Identifier: Apache-2.0
// The search in a constant expression against the same search at run time and against trying every choice.
#include "tessera/search/optcnn/static_eliminate.hpp"

#include "search/optcnn/random_problem.hpp"
#include "tessera/search/optcnn/eliminate.hpp"

#include <doctest/doctest.h>

namespace {

using namespace tests;
using search::cost_t;
using search::edge_ends;

constexpr cost_t scrambled(int a, int b, int c, int range) {
    auto x = static_cast<std::uint32_t>(a * 7919 + b * 104729 + c * 1299709 + 1);
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return static_cast<cost_t>(x % static_cast<std::uint32_t>(range));
}

/// Costs for any graph; small ranges make ties.
template <int Range>
struct costs {
    static constexpr int edge_steps = 30;
    static constexpr cost_t unary(int node, int c) { return scrambled(node, c, 5, Range); }
    static constexpr cost_t edge_cost(int e, int a, int b) { return scrambled(e, a, b, Range); }
};

struct chain : costs<1000> {
    static constexpr int nodes = 6;
    static constexpr int edges = 5;
    static constexpr int configurations(int node) { return 3 + node % 2; }
    static constexpr edge_ends edge(int e) { return {e, e + 1}; }
};

struct diamond : costs<3> {
    static constexpr int nodes = 5;
    static constexpr int edges = 6;
    static constexpr int configurations(int node) { return 2 + node % 3; }
    static constexpr edge_ends edge(int e) {
        constexpr edge_ends all[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 4}};
        return all[e];
    }
};

/// Nothing is eliminated, and node 5 has no edge.
struct dense : costs<1000> {
    static constexpr int nodes = 6;
    static constexpr int edges = 10;
    static constexpr int configurations(int) { return 4; }
    static constexpr edge_ends edge(int e) {
        constexpr edge_ends all[] = {{0, 1}, {0, 2}, {3, 0}, {0, 4}, {1, 2}, {1, 3}, {4, 1}, {2, 3}, {2, 4}, {3, 4}};
        return all[e];
    }
};

/// Tables and eliminations that take several evaluations each.
struct wide : costs<100000> {
    static constexpr int nodes = 3;
    static constexpr int edges = 2;
    static constexpr int edge_steps = 200;
    static constexpr int unary_steps = 50'000;
    static constexpr int configurations(int) { return 40; }
    static constexpr edge_ends edge(int e) { return {e, e + 1}; }
};

struct lone : costs<10> {
    static constexpr int nodes = 1;
    static constexpr int edges = 0;
    static constexpr int configurations(int) { return 1; }
    static constexpr edge_ends edge(int) { return {}; }
};

struct nothing : lone {
    static constexpr int nodes = 0;
};

struct hopeless : chain {
    static constexpr cost_t edge_cost(int e, int a, int b) {
        return e == 2 ? search::forbidden : chain::edge_cost(e, a, b);
    }
};

/// Deep: every elimination needs the one before it.
struct deep : costs<10> {
    static constexpr int nodes = 160;
    static constexpr int edges = 159;
    static constexpr int configurations(int) { return 2; }
    static constexpr edge_ends edge(int e) { return {e, e + 1}; }
};

template <class Problem>
search::additive_problem at_run_time() {
    search::additive_problem problem;
    for (int v = 0; v < Problem::nodes; ++v) {
        std::vector<cost_t> unary;
        for (int c = 0; c < Problem::configurations(v); ++c) {
            unary.push_back(Problem::unary(v, c));
        }
        problem.add_node(unary);
    }
    for (int e = 0; e < Problem::edges; ++e) {
        const edge_ends ends = Problem::edge(e);
        std::vector<cost_t> table;
        for (int a = 0; a < Problem::configurations(ends.from); ++a) {
            for (int b = 0; b < Problem::configurations(ends.to); ++b) {
                table.push_back(Problem::edge_cost(e, a, b));
            }
        }
        problem.add_edge(ends.from, ends.to, table);
    }
    return problem;
}

template <class Problem, bool LeafRule>
void compare() {
    constexpr auto& found = search::static_solution<Problem, search::default_static_budget, LeafRule>;
    static_assert(found.state == search::status::solved);
    const search::additive_problem problem = at_run_time<Problem>();
    const search::elimination_solution expected = search::eliminate(problem, {.leaf_rule = LeafRule});
    CHECK(found.cost == expected.cost);
    CHECK(std::vector<search::choice_t>(found.choices.begin(), found.choices.end()) == expected.choice);
    CHECK(problem.cost(expected.choice) == found.cost);
    CHECK(found.statistics.remaining == expected.statistics.remaining);
    CHECK(found.statistics.node_eliminations == expected.statistics.node_eliminations);
    CHECK(found.statistics.edge_eliminations == expected.statistics.edge_eliminations);
    CHECK(found.statistics.leaf_eliminations == expected.statistics.leaf_eliminations);
    CHECK(found.statistics.relaxations == expected.statistics.relaxations);
    CHECK(found.statistics.visited == expected.statistics.visited);
    if (search::space_size(problem) < 100000) {
        CHECK(found.cost == search::brute_force(problem).cost);
    }
}

// The cheapest path by hand.
struct by_hand {
    static constexpr int nodes = 3;
    static constexpr int edges = 2;
    static constexpr int configurations(int) { return 2; }
    static constexpr edge_ends edge(int e) { return {e, e + 1}; }
    static constexpr cost_t unary(int node, int c) { return node == 1 && c == 0 ? 5 : 1; }
    static constexpr cost_t edge_cost(int, int a, int b) { return a == b ? 0 : 3; }
};
static_assert(search::static_solution<by_hand>.cost == 3);
static_assert(search::static_solution<by_hand>.choices == std::array<search::choice_t, 3>{1, 1, 1});
static_assert(search::static_solution<by_hand>.statistics.remaining == 1);
static_assert(search::static_solution<by_hand, 18, false>.statistics.remaining == 2);

static_assert(search::static_solution<hopeless>.state == search::status::infeasible);
static_assert(search::static_solution<hopeless, 1000, false>.state == search::status::infeasible);
static_assert(search::static_solution<nothing>.state == search::status::solved);
static_assert(search::static_solution<nothing>.cost == 0);

TEST_CASE("the compiler finds what the search at run time finds") {
    compare<chain, true>();
    compare<chain, false>();
    compare<diamond, true>();
    compare<diamond, false>();
    compare<dense, true>();
    compare<wide, true>();
    compare<wide, false>();
    compare<lone, true>();
    compare<deep, false>();
}

} // namespace
