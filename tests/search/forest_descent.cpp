// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/forest_descent.hpp"

#include "search/random_problem.hpp"
#include "tessera/search/variable_elimination.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

search::timed_usage random_usage(const search::additive_problem& p, std::mt19937& random) {
    search::timed_usage m;
    for (int v = 0; v < p.nodes(); ++v) {
        const auto begin = static_cast<ts::index_t>(random() % 6);
        m.alive.push_back({begin, begin + static_cast<ts::index_t>(random() % 5)});
        m.usage.emplace_back();
        for (int s = 0; s < p.configurations(v); ++s) {
            m.usage.back().push_back(static_cast<ts::index_t>(random() % 50));
        }
    }
    m.limit = 40 + static_cast<ts::index_t>(random() % 60);
    return m;
}

/// The least cost of all choices that keep the limit.
search::cost_t by_exhaustion(const search::additive_problem& p, const search::timed_usage& m) {
    std::vector<search::choice_t> c(static_cast<std::size_t>(p.nodes()), 0);
    search::cost_t best = search::forbidden;
    while (true) {
        best = m.holds(c) ? std::min(best, p.cost(c)) : best;
        int v = 0;
        while (v < p.nodes() && ++c[static_cast<std::size_t>(v)] == p.configurations(v)) {
            c[static_cast<std::size_t>(v++)] = 0;
        }
        if (v == p.nodes()) {
            return best;
        }
    }
}

} // namespace

TEST_CASE("forest descent: finds what elimination finds on random problems, and never gets worse on the way") {
    int equal = 0;
    int compared = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        const search::additive_problem p = tests::random_problem(seed, 100);
        const auto exact = search::eliminate_variables(p);
        search::forest_descent descent(p);
        search::cost_t last = descent.current_cost();
        for (int i = 0; i < 40; ++i) {
            descent.sweep();
            CHECK(descent.current_cost() <= last);
            last = descent.current_cost();
        }
        CHECK(last >= exact.cost);
        if (exact.state == search::status::solved) {
            ++compared;
            equal += descent.best_cost() == exact.cost ? 1 : 0;
            CHECK(p.cost(descent.best()) == descent.best_cost());
        }
    }
    CHECK(compared > 100);
    CHECK(equal * 10 >= compared * 9); // it is a local search
}

TEST_CASE("forest descent: keeps a limit on what is in use at any time") {
    std::mt19937 random(5);
    int possible = 0;
    int found = 0;
    int equal = 0;
    for (unsigned seed = 1; seed <= 100; ++seed) {
        if (seed % 4 == 3) {
            continue; // forbidden costs
        }
        const search::additive_problem p = tests::random_problem(seed, 100);
        const search::timed_usage m = random_usage(p, random);
        const search::cost_t exact = by_exhaustion(p, m);
        search::forest_descent descent(p, &m, seed);
        for (int i = 0; i < 300; ++i) {
            descent.sweep();
        }
        possible += exact < search::forbidden ? 1 : 0;
        CHECK(descent.best_cost() >= exact);
        if (!descent.best().empty()) {
            ++found;
            CHECK(m.holds(descent.best()));
            CHECK(p.cost(descent.best()) == descent.best_cost());
            equal += descent.best_cost() == exact ? 1 : 0;
        }
    }
    CHECK(possible > 40);
    CHECK(found * 10 >= possible * 9);
    CHECK(equal * 2 >= found);
    MESSAGE("of " << possible << " that can be kept, kept " << found << ", at least cost " << equal);
}
