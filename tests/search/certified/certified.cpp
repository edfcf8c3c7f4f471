// SPDX-License-Identifier: Apache-2.0
// The certified solver against brute force: random problems with memory over time, forbidden choices and parallel
// edges.
#include "tessera/search/certified/certified.hpp"
#include "tessera/execute/local/search_threads.hpp"
#include "tessera/search/optcnn/variable_elimination.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
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
        std::vector<cost_t> table(tessera::to_size(p.choices(a)) * tessera::to_size(p.choices(b)));
        for (cost_t& c : table) {
            c = draw(random, 8) == 0 ? forbidden : static_cast<cost_t>(draw(random, 60));
        }
        p.add_edge(a, b, table);
    }
    p.limit = draw(random, 5) == 0 ? no_limit : static_cast<std::int64_t>(draw(random, 12 * n));
    return p;
}

/// Many nodes, each joined to others at random, in little memory: no search is sure of its optimum.
choice_problem hard_problem(std::mt19937& random) {
    choice_problem p;
    constexpr std::size_t nodes = 60, choices = 4;
    for (std::size_t v = 0; v < nodes; ++v) {
        std::vector<cost_t> costs;
        std::vector<std::int64_t> usages;
        for (std::size_t c = 0; c < choices; ++c) {
            costs.push_back(static_cast<cost_t>(draw(random, 50)));
            usages.push_back(static_cast<std::int64_t>(draw(random, 100)));
        }
        const auto first = static_cast<std::int64_t>(draw(random, 4));
        p.add_node(costs, usages, {first, first + 2});
    }
    for (std::size_t e = 0; e < 4 * nodes; ++e) {
        const std::size_t a = draw(random, nodes);
        std::vector<cost_t> table(choices * choices);
        for (cost_t& c : table) {
            c = static_cast<cost_t>(draw(random, 1000));
        }
        p.add_edge(static_cast<int>(a), static_cast<int>((a + 1 + draw(random, nodes - 1)) % nodes), table);
    }
    p.limit = 1100;
    return p;
}

cost_t by_brute_force(const choice_problem& p) {
    std::vector<choice_t> choice(tessera::to_size(p.nodes()), 0);
    cost_t best = forbidden;
    for (;;) {
        const evaluation_of_choice e = evaluate(p, choice);
        best = e.fits(p) ? std::min(best, e.cost) : best;
        int v = 0;
        while (v < p.nodes() && ++choice[tessera::to_size(v)] == p.choices(v)) {
            choice[tessera::to_size(v)] = 0;
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

TEST_CASE("the certified solver: trees are solved by messages alone, as elimination solves them") {
    std::mt19937 random(10);
    for (int i = 0; i < 100; ++i) {
        choice_problem p;
        additive_problem same;
        for (int v = 0; v < 30; ++v) {
            std::vector<cost_t> costs(1 + draw(random, 5));
            for (cost_t& c : costs) {
                c = static_cast<cost_t>(draw(random, 50));
            }
            p.add_node(costs, std::vector<std::int64_t>(costs.size(), 0), {});
            same.add_node(costs);
            if (v > 0) {
                const auto to = static_cast<int>(draw(random, tessera::to_size(v)));
                std::vector<cost_t> table(costs.size() * tessera::to_size(p.choices(to)));
                for (cost_t& c : table) {
                    c = static_cast<cost_t>(draw(random, 50));
                }
                p.add_edge(v, to, table);
                same.add_edge(v, to, table);
            }
        }
        certified_options o = few_rounds(1);
        o.rounds = 1;
        o.round_work = 0;
        o.finish_steps = 0;
        const certified_result r = solve_certified(p, o);
        const variable_elimination_solution exact = eliminate_variables(same);
        CHECK(r.value.cost == exact.cost);
        CHECK(r.bound == exact.cost);
    }
}

TEST_CASE("the certified solver: prices of memory reach the best bound that prices can give") {
    constexpr std::size_t points = 3, nodes = 40, choices = 6;
    std::mt19937 random(11);
    for (int i = 0; i < 30; ++i) {
        choice_problem p;
        std::array<double, points> least{}, most{};
        for (std::size_t v = 0; v < nodes; ++v) {
            std::vector<cost_t> costs;
            std::vector<std::int64_t> usages;
            for (std::size_t c = 0; c < choices; ++c) {
                costs.push_back(static_cast<cost_t>(draw(random, 100'000)));
                usages.push_back(static_cast<std::int64_t>(draw(random, 1000)));
            }
            const std::size_t first = draw(random, points), last = first + 1 + draw(random, points - first);
            p.add_node(costs, usages, {static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)});
            const auto cheapest = tessera::to_size(std::min_element(costs.begin(), costs.end()) - costs.begin());
            for (std::size_t t = first; t < last; ++t) {
                least[t] += static_cast<double>(*std::min_element(usages.begin(), usages.end()));
                most[t] += static_cast<double>(usages[cheapest]);
            }
        }
        p.limit = static_cast<std::int64_t>(*std::max_element(least.begin(), least.end()) +
                                            0.2 * *std::max_element(most.begin(), most.end()));
        // Without edges the bound is a sum over nodes; small steps from zero prices find its top.
        std::array<double, points> price{};
        double best = 0;
        for (int k = 0; k < 20'000; ++k) {
            std::array<double, points> over{};
            double bound = 0;
            for (std::size_t t = 0; t < points; ++t) {
                over[t] = -static_cast<double>(p.limit);
                bound -= price[t] * static_cast<double>(p.limit);
            }
            for (int v = 0; v < p.nodes(); ++v) {
                const auto first = tessera::to_size(p.live(v).first), last = tessera::to_size(p.live(v).last);
                const double weight =
                    std::accumulate(price.begin() + p.live(v).first, price.begin() + p.live(v).last, 0.0);
                std::size_t cheapest = 0;
                std::array<double, choices> sum{};
                for (std::size_t c = 0; c < choices; ++c) {
                    sum[c] = static_cast<double>(p.costs(v)[c]) + weight * static_cast<double>(p.usages(v)[c]);
                    cheapest = sum[c] < sum[cheapest] ? c : cheapest;
                }
                bound += sum[cheapest];
                for (std::size_t t = first; t < last; ++t) {
                    over[t] += static_cast<double>(p.usages(v)[cheapest]);
                }
            }
            best = std::max(best, bound);
            const double length = std::sqrt(std::inner_product(over.begin(), over.end(), over.begin(), 0.0));
            for (std::size_t t = 0; t < points && length > 0; ++t) {
                price[t] = std::max(0.0, price[t] + 200.0 / (10.0 + k) * over[t] / length);
            }
        }
        certified_options o = few_rounds(1);
        o.rounds = 30;
        o.finish_steps = 0;
        const certified_result r = solve_certified(p, o);
        CAPTURE(i);
        CHECK(static_cast<double>(r.bound) <= 1.001 * best + 1);
        CHECK(static_cast<double>(r.bound) >= 0.998 * best);
    }
}

TEST_CASE("the certified solver: the same work gives the same result on any number of threads") {
    std::mt19937 random(9);
    int found = 0, other = 0;
    for (std::uint32_t i = 0; i < 12; ++i) {
        const choice_problem p = hard_problem(random); // too many for an exact finish: the way there counts
        certified_options o = few_rounds(i);
        o.rounds = 2;
        o.round_work = 20'000;
        o.finish_steps = 0;
        o.lanes = 2;
        const certified_result a = solve_certified(p, o);
        o.threads = tessera::search_threads(4);
        const certified_result b = solve_certified(p, o);
        CHECK(a.choice == b.choice);
        CHECK(a.bound == b.bound);
        found += a.choice.empty() ? 0 : 1;
        o.seed += 1000;
        other += solve_certified(p, o).choice == a.choice ? 0 : 1;
    }
    CHECK(found > 6);
    CHECK(other > 0); // what it finds depends on the way
}

TEST_CASE("the certified solver: ranges are half open, and a problem that does not fit says what would do") {
    choice_problem p;
    p.add_node(std::vector<cost_t>{1, 5}, std::vector<std::int64_t>{20, 10}, {0, 4});
    p.add_node(std::vector<cost_t>{1, 7}, std::vector<std::int64_t>{20, 10}, {3, 6});
    CHECK(evaluate(p, std::vector<choice_t>{0, 1}).peak == 30);
    CHECK(evaluate(p, std::vector<choice_t>{0, 1}).peak_time == 3);
    p.limit = 29; // both are live at 3, so that both must use 10
    CHECK(solve_certified(p).state == status::solved);
    CHECK(solve_certified(p).value.cost == 12);
    p.limit = 19;
    CHECK(solve_certified(p).state == status::infeasible);
    CHECK(solve_certified(p).choice.empty());
    CHECK(solve_certified(p).least_peak == 20);
    choice_problem apart; // one after the other
    apart.add_node(std::vector<cost_t>{1, 5}, std::vector<std::int64_t>{20, 10}, {0, 3});
    apart.add_node(std::vector<cost_t>{1, 7}, std::vector<std::int64_t>{20, 10}, {3, 6});
    apart.limit = 29;
    CHECK(evaluate(apart, std::vector<choice_t>{0, 0}).peak == 20);
    CHECK(solve_certified(apart).value.cost == 2);
}
