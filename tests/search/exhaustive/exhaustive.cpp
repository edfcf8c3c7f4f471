// SPDX-License-Identifier: Apache-2.0
// Depth-first search against trying every choice; what a problem refuses; the size of the space.
#include "tessera/search/exhaustive/exhaustive.hpp"

#include "search/optcnn/random_problem.hpp"

#include <doctest/doctest.h>

namespace {

using namespace tests;

TEST_CASE("depth-first search finds the lexicographically first optimum") {
    for (unsigned seed = 0; seed < 250; ++seed) {
        CAPTURE(seed);
        const search::additive_problem problem = random_problem(seed, seed % 3 == 0 ? 3 : 1000);
        const search::exhaustive_solution expected = search::brute_force(problem);
        const search::exhaustive_solution found = search::exhaustive(problem);
        REQUIRE(found.state == expected.state);
        CHECK(found.cost == expected.cost);
        CHECK(found.choice == expected.choice);
        if (expected.state == search::status::solved) {
            CHECK(problem.cost(found.choice) == found.cost);
        }
        CHECK(search::space_size_text(problem) == std::to_string(expected.visited));
        CHECK(static_cast<double>(search::space_size(problem)) == static_cast<double>(expected.visited));
    }
}

TEST_CASE("pruning visits fewer partial choices than there are choices") {
    search::additive_problem problem;
    for (int v = 0; v < 8; ++v) {
        problem.add_node({5, 3, 1, 4, 2});
    }
    const search::exhaustive_solution found = search::exhaustive(problem);
    CHECK(found.cost == 8);
    CHECK(found.visited < 200);
    CHECK(search::brute_force(problem).visited == 390625);
}

TEST_CASE("a budget ends the search with the best choice so far") {
    const search::additive_problem problem = hard_problem(9, 4);
    const search::exhaustive_solution all = search::exhaustive(problem);
    REQUIRE(all.state == search::status::solved);
    const search::exhaustive_solution some = search::exhaustive(problem, 100);
    CHECK(some.state == search::status::budget_exhausted);
    CHECK(some.visited <= 104);
    CHECK(problem.cost(some.choice) == some.cost);
    CHECK(some.cost >= all.cost);
    CHECK(search::exhaustive(problem, all.visited).state == search::status::solved);
    CHECK(search::exhaustive(problem, 2).choice.empty());
}

TEST_CASE("forbidden costs saturate and leave no choice") {
    search::additive_problem problem;
    problem.add_node({INT64_MAX, search::forbidden - 1});
    problem.add_node({1, 0});
    problem.add_edge(0, 1, {0, 0, 0, search::forbidden});
    CHECK(problem.unary(0)[0] == search::forbidden);
    CHECK(problem.cost({0, 0}) == search::forbidden);
    CHECK(problem.cost({1, 0}) == search::forbidden); // the sum reaches it
    const search::exhaustive_solution found = search::exhaustive(problem);
    CHECK(found.state == search::status::infeasible);
    CHECK(found.choice.empty());
    CHECK(found.cost == search::forbidden);
    CHECK(search::brute_force(problem).state == search::status::infeasible);
}

TEST_CASE("an empty problem has one choice, of nothing") {
    const search::additive_problem problem;
    CHECK(search::exhaustive(problem).state == search::status::solved);
    CHECK(search::exhaustive(problem).cost == 0);
    CHECK(search::brute_force(problem).visited == 1);
    CHECK(search::space_size_text(problem) == "1");
}

TEST_CASE("the size of a large space is exact") {
    search::additive_problem problem;
    for (int v = 0; v < 30; ++v) {
        problem.add_node(std::vector<search::cost_t>(20, 0));
    }
    CHECK(search::space_size_text(problem) == "1073741824" + std::string(30, '0')); // 2^30 * 10^30
}

TEST_CASE("a malformed problem is refused") {
    search::additive_problem problem;
    CHECK_THROWS_WITH_AS(problem.add_node({}), doctest::Contains("node 0: has no configuration"), ts::error);
    CHECK_THROWS_WITH_AS(problem.add_node({1, -1}), doctest::Contains("negative"), ts::error);
    CHECK_THROWS_AS(problem.add_node(std::vector<search::cost_t>(65536, 0)), ts::error);
    CHECK(problem.nodes() == 0);
    problem.add_node({1, 2});
    problem.add_node({1, 2, 3});
    CHECK_THROWS_WITH_AS(problem.add_edge(0, 2, {1}), doctest::Contains("there are only 2 nodes"), ts::error);
    CHECK_THROWS_AS(problem.add_edge(-1, 1, {1}), ts::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(1, 1, {1}), doctest::Contains("itself"), ts::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(0, 1, {1, 2, 3}), doctest::Contains("has 3 entries but needs 6"), ts::error);
    CHECK_THROWS_AS(problem.add_edge(0, 1, {1, 2, 3, 4, 5, -6}), ts::error);
    CHECK(problem.edges() == 0);
    CHECK_THROWS_AS(problem.cost({0}), ts::error);
    CHECK_THROWS_AS(problem.cost({0, 3}), ts::error);
    CHECK(problem.cost({1, 2}) == 5);
}

} // namespace
