// SPDX-License-Identifier: Apache-2.0
// The certified solver against brute force: random problems with memory over time, forbidden choices and parallel
// edges.
#include "tessera/search/certified/certified.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tessera::search;

namespace {

std::size_t draw(std::mt19937& random, std::size_t below) { return random() % below; }

choice_problem random_problem(std::mt19937& random) {
    choice_problem p;
    const std::size_t n = 2 + draw(random, 6);
    for (std::size_t v = 0; v < n; ++v) {
        const std::size_t choices = 1 + draw(random, 4);
        std::vector<cost_t> costs;
        std::vector<std::int64_t> usages;
        for (std::size_t c = 0; c < choices; ++c) {
            costs.push_back(draw(random, 12) == 0 ? forbidden : static_cast<cost_t>(draw(random, 50)));
            usages.push_back(static_cast<std::int64_t>(draw(random, 20)));
        }
        const auto first = static_cast<std::int64_t>(draw(random, 10));
        p.add_node(costs, usages, {first, first + static_cast<std::int64_t>(draw(random, 6))});
    }
    for (std::size_t e = draw(random, 2 * n); e > 0; --e) {
        const auto a = static_cast<int>(draw(random, n)), b = static_cast<int>(draw(random, n));
        if (a == b) {
            continue;
        }
        std::vector<cost_t> table(static_cast<std::size_t>(p.choices(a)) * static_cast<std::size_t>(p.choices(b)));
        for (cost_t& c : table) {
            c = draw(random, 8) == 0 ? forbidden : static_cast<cost_t>(draw(random, 60));
        }
        p.add_edge(a, b, table);
    }
    p.limit = draw(random, 5) == 0 ? no_limit : static_cast<std::int64_t>(draw(random, 12 * n));
    return p;
}

cost_t by_brute_force(const choice_problem& p) {
    std::vector<choice_t> choice(static_cast<std::size_t>(p.nodes()), 0);
    cost_t best = forbidden;
    for (;;) {
        const evaluation_of_choice e = evaluate(p, choice);
        best = e.fits(p) ? std::min(best, e.cost) : best;
        int v = 0;
        while (v < p.nodes() && ++choice[static_cast<std::size_t>(v)] == p.choices(v)) {
            choice[static_cast<std::size_t>(v)] = 0;
            ++v;
        }
        if (v == p.nodes()) {
            return best;
        }
    }
}

certified_options few_rounds(std::uint32_t seed) {
    certified_options o;
    o.rounds = 8;
    o.round_work = 200'000;
    o.round_steps = 30;
    o.seed = seed;
    return o;
}

} // namespace

TEST_CASE("the certified solver: 2,000 random problems have the optimum of brute force, or are proved to have none") {
    std::mt19937 random(7);
    int without = 0;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const choice_problem p = random_problem(random);
        const cost_t best = by_brute_force(p);
        const certified_result r = solve_certified(p, few_rounds(i));
        CAPTURE(i);
        if (best == forbidden) {
            ++without;
            REQUIRE(r.choice.empty());
            REQUIRE(r.state == status::infeasible);
        } else {
            REQUIRE(r.state == status::solved);
            REQUIRE(r.value.cost == best);
            REQUIRE(r.bound == best);
            REQUIRE(evaluate(p, r.choice).fits(p));
        }
    }
    CHECK(without > 100); // the drawing is of both kinds
    CHECK(without < 1900);
}

TEST_CASE(
    "the certified solver: without its exact finish the bound is never above the optimum, on 10,000 random problems") {
    std::mt19937 random(8);
    int close = 0;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        const choice_problem p = random_problem(random);
        certified_options o = few_rounds(i);
        o.rounds = 2;
        o.finish_steps = 0;
        const certified_result r = solve_certified(p, o);
        const cost_t best = by_brute_force(p);
        CAPTURE(i);
        if (best < forbidden) {
            REQUIRE(r.state != status::infeasible);
            REQUIRE(r.bound <= best);
            close += r.bound == best ? 1 : 0;
        } else {
            REQUIRE(r.choice.empty());
        }
    }
    CHECK(close > 3000); // it is more than 0
}

TEST_CASE("the certified solver: the same work gives the same result, and a problem that does not fit says so") {
    std::mt19937 random(9);
    for (std::uint32_t i = 0; i < 50; ++i) {
        const choice_problem p = random_problem(random);
        certified_options o = few_rounds(i);
        o.lanes = 2;
        const certified_result a = solve_certified(p, o), b = solve_certified(p, o);
        CHECK(a.choice == b.choice);
        CHECK(a.bound == b.bound);
    }
    choice_problem p;
    p.add_node(std::vector<cost_t>{1, 5}, std::vector<std::int64_t>{20, 10}, {0, 4});
    p.add_node(std::vector<cost_t>{1, 7}, std::vector<std::int64_t>{20, 10}, {3, 6});
    p.limit = 29; // both are live at 3, so that both must use 10
    CHECK(solve_certified(p).state == status::solved);
    CHECK(solve_certified(p).value.cost == 12);
    p.limit = 19;
    CHECK(solve_certified(p).state == status::infeasible);
    CHECK(solve_certified(p).choice.empty());
    CHECK(solve_certified(p).least_peak == 20);
}
