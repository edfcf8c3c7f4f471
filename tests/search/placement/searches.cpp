// SPDX-License-Identifier: Apache-2.0
#include "random_costs.hpp"
#include "tessera/search/placement/annealing.hpp"
#include "tessera/search/placement/branch_and_bound.hpp"
#include "tessera/search/placement/cut_placement.hpp"
#include "tessera/search/placement/experts.hpp"
#include "tessera/search/placement/list_placement.hpp"
#include "tessera/search/placement/metropolis.hpp"

#include <doctest/doctest.h>

using namespace placement_test;

namespace {

/// The best of all placements that fit, each of them priced.
sp::found try_every_placement(sp::evaluator& e) {
    sp::found best;
    sp::assignment where(e.graph().nodes.size(), 0);
    for (;;) {
        const sp::outcome o = e.evaluate(where);
        if (o.feasible && (best.where.empty() || o.step < best.step)) {
            best = {where, o.step, 0, 0};
        }
        std::size_t v = 0;
        while (v < where.size() && ++where[v] == e.devices()) {
            where[v++] = 0;
        }
        if (v == where.size()) {
            return best;
        }
    }
}

/// A small graph in which some nodes have to lie together and some run on one kind of device alone.
sp::cost_graph any_graph(std::mt19937& random, int nodes, int classes) {
    sp::cost_graph g = small_graph(random, nodes, classes, true);
    for (sp::cost_node& n : g.nodes) {
        n.group = below(random, 3) == 0 ? below(random, 2) : -1;
        if (n.times.size() > 1 && below(random, 4) == 0) {
            n.times[tessera::to_size(below(random, classes))] = {sp::unsupported, sp::unsupported};
        }
    }
    return g;
}

} // namespace

TEST_CASE("branch and bound finds the best of all placements, or that none fits") {
    std::mt19937 random(23);
    int some = 0;
    int none = 0;
    std::int64_t visits = 0;
    for (int round = 0; round < 250; ++round) {
        const int devices = 2 + below(random, 2);
        const tessera::cluster on(small_machine(random, devices, below(random, 2) == 0 ? 0 : 12 + below(random, 30)));
        const sp::cost_graph g = any_graph(random, 1 + below(random, 6), static_cast<int>(on.graph().classes.size()));
        sp::evaluator e(g, on);
        const sp::found all = try_every_placement(e);
        const sp::exact_found found = sp::best_of_all(e);
        CAPTURE(round);
        REQUIRE(found.proved);
        REQUIRE(found.best.where.empty() == all.where.empty());
        visits += found.visits;
        all.where.empty() ? ++none : ++some;
        if (!all.where.empty()) {
            CHECK(found.best.step == all.step);
            CHECK(e.evaluate(found.best.where).step == all.step);
            CHECK(e.evaluate(found.best.where).feasible);
        }
    }
    CHECK(some > 150);
    CHECK(none > 10);
    CHECK(visits > 0);
}

TEST_CASE("no partial placement has a bound above the step of any placement that agrees with it") {
    std::mt19937 random(31);
    for (int round = 0; round < 300; ++round) {
        const tessera::cluster on(small_machine(random, 3, 0));
        const sp::cost_graph g = small_graph(random, 8, static_cast<int>(on.graph().classes.size()), true);
        sp::evaluator e(g, on);
        sp::detail::placement_bounds bounds(e);
        sp::assignment where = random_placement(random, g.count(), 3);
        const tessera::index_t step = e.priced(where).step;
        CHECK(bounds.step(where) <= step);
        for (int k = 0; k < 8; ++k) {
            where[tessera::to_size(below(random, 8))] = -1;
            CHECK(bounds.step(where) <= step);
        }
    }
}

TEST_CASE(
    "annealing and the Markov chain reach the optimum of small graphs, and always say the price of what they return") {
    std::mt19937 random(41);
    int reached = 0;
    int chain_reached = 0;
    int rounds = 0;
    for (int round = 0; round < 60; ++round) {
        const tessera::cluster on(small_machine(random, 2, 0));
        const sp::cost_graph g = any_graph(random, 7, static_cast<int>(on.graph().classes.size()));
        sp::evaluator e(g, on);
        const sp::exact_found exact = sp::best_of_all(e);
        const sp::found annealed = sp::anneal(e, {.evaluations = 3000, .seed = 7});
        const sp::found chain = sp::metropolis(e, {.evaluations = 3000, .temperature = 0.1, .seed = 7});
        if (exact.best.where.empty()) {
            continue;
        }
        ++rounds;
        for (const sp::found& f : {annealed, chain}) {
            CHECK(e.priced(f.where).step == f.step);
            CHECK(e.priced(f.where).feasible() == f.feasible());
            CHECK(f.evaluations <= 3000);
            if (f.feasible()) {
                CHECK(f.step >= exact.best.step);
                CHECK(e.evaluate(f.where).feasible); // what has to lie together does
            }
        }
        reached += annealed.feasible() && annealed.step == exact.best.step ? 1 : 0;
        chain_reached += chain.feasible() && chain.step == exact.best.step ? 1 : 0;
        const sp::found again = sp::anneal(e, {.evaluations = 3000, .seed = 7});
        CHECK(again.where == annealed.where);
    }
    CHECK(rounds > 40);
    CHECK(reached >= rounds * 9 / 10);
    CHECK(chain_reached >= rounds * 8 / 10);
}

TEST_CASE("list scheduling, cuts and experts keep together what has to lie together, and price what they return") {
    std::mt19937 random(43);
    for (int round = 0; round < 100; ++round) {
        const int devices = 1 + below(random, 4);
        const tessera::cluster on(small_machine(random, devices, 0));
        sp::cost_graph g =
            small_graph(random, 2 + below(random, 30), static_cast<int>(on.graph().classes.size()), true);
        for (sp::cost_node& n : g.nodes) {
            n.group = below(random, 4) == 0 ? below(random, 3) : -1;
            n.parameter_bytes = below(random, 2);
        }
        sp::evaluator e(g, on);
        for (const sp::found& f : {sp::by_list(e), sp::by_cut(e), sp::equal_times(e), sp::equal_memory(e),
                                   sp::layer_by_layer(e), sp::on_one_device(e)}) {
            const sp::outcome o = e.evaluate(f.where);
            CHECK(o.why == "");
            CHECK(o.step == f.step);
        }
    }
}

TEST_CASE("list scheduling uses all devices for work that is apart, and leaves full ones") {
    sp::cost_graph g;
    g.name = "apart";
    for (int v = 0; v < 8; ++v) {
        g.nodes.push_back({"n", {{10, 20}}, 1, 0, 9, -1});
    }
    tessera::machine m;
    m.devices = 4;
    const tessera::cluster roomy(tessera::fully_linked(m));
    sp::evaluator e(g, roomy);
    CHECK(sp::by_list(e).step == 60);
    m.capacity = 20; // two nodes on each
    const tessera::cluster small(tessera::fully_linked(m));
    sp::evaluator tight(g, small);
    CHECK(sp::by_list(tight).feasible());
    CHECK(sp::by_list(tight).step == 60);
}

TEST_CASE("a cut of two cliques joined by one edge is that edge, and parts are balanced") {
    for (const int size : {5, 40, 300}) {
        sp::weighted_graph g;
        g.weight.assign(tessera::to_size(2 * size), 1);
        g.near.resize(g.weight.size());
        std::mt19937 random(3);
        for (int side = 0; side < 2; ++side) {
            for (int v = 0; v < size; ++v) {
                for (int k = 0; k < 12; ++k) {
                    const int w = below(random, size);
                    if (v != w) {
                        g.join(2 * v + side, 2 * w + side, 1); // numbers tell nothing
                    }
                }
            }
        }
        g.join(0, 1, 1);
        const std::vector<int> part = sp::partition(g, 2);
        CHECK(sp::cut_weight(g, part) == 1);
        CHECK(std::count(part.begin(), part.end(), 0) == size);
    }
    // A grid of 24 x 24 in four parts: the best cut is 48.
    sp::weighted_graph grid;
    grid.weight.assign(576, 1);
    grid.near.resize(576);
    for (int v = 0; v < 576; ++v) {
        if (v % 24 < 23) {
            grid.join(v, v + 1, 1);
        }
        if (v < 552) {
            grid.join(v, v + 24, 1);
        }
    }
    const std::vector<int> part = sp::partition(grid, 4);
    CHECK(sp::cut_weight(grid, part) < 70);
    for (int p = 0; p < 4; ++p) {
        CHECK(std::count(part.begin(), part.end(), p) <= 152);
    }
}

TEST_CASE("chain groups never wait for each other in a circle, and are as few as asked for where chains allow it") {
    std::mt19937 random(47);
    for (int round = 0; round < 100; ++round) {
        const sp::cost_graph g = small_graph(random, 2 + below(random, 25), 1);
        const sp::graph_order order(g);
        const sp::grouping groups = sp::chain_groups(g, order, 1 + below(random, 10));
        sp::cost_graph contracted;
        contracted.name = "contracted";
        contracted.nodes.assign(tessera::to_size(groups.count), {"group", {{1, 1}}, 0, 0, 0, -1});
        for (const sp::cost_edge& x : g.edges) {
            const int a = groups.of[tessera::to_size(x.from)];
            const int b = groups.of[tessera::to_size(x.to)];
            if (a != b) {
                contracted.edges.push_back({a, b, 0});
            }
        }
        CHECK_NOTHROW((void)sp::graph_order{contracted});
    }
    sp::cost_graph line;
    line.name = "line";
    for (int v = 0; v < 50; ++v) {
        line.nodes.push_back({"n", {{1, 1}}, 1, v % 5 == 0 ? 8 : 0, 0, -1});
        if (v > 0) {
            line.edges.push_back({v - 1, v, 1});
        }
    }
    CHECK(sp::chain_groups(line, sp::graph_order(line), 7).count == 7);
    CHECK(sp::colocated_groups(line, sp::graph_order(line)).count == 10); // one for every layer with parameters
    CHECK(sp::required_groups(line, sp::graph_order(line)).count == 50);
}
