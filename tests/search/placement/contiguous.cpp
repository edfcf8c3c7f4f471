// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/placement/contiguous.hpp"
#include "random_split_problem.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

using namespace placement_test;

namespace {

/// A chain of nodes of equal times and sizes.
sp::split_problem chain(int nodes, int accelerators, double cost) {
    sp::split_problem p;
    p.name = "chain";
    p.memory = 1e9;
    p.accelerators = accelerators;
    for (int v = 0; v < nodes; ++v) {
        p.nodes.push_back({.id = v, .cpu_time = 10, .accelerator_time = 1, .size = 1, .output_cost = cost});
        if (v > 0) {
            p.edges.push_back({v - 1, v});
        }
    }
    return p;
}

} // namespace

TEST_CASE("contiguous splits are the best of all that are tried one by one") {
    std::mt19937 random(17);
    int feasible = 0;
    int tight = 0;
    int infeasible = 0;
    for (const problem_kind& kind : {problem_kind{9, 3, false, false}, problem_kind{8, 2, false, true},
                                     problem_kind{9, 3, true, false}, problem_kind{9, 2, true, true}}) {
        for (int round = 0; round < 150; ++round) {
            const sp::split_problem p = random_problem(random, kind);
            const best_split all = try_all(p);
            const sp::contiguous_found found = sp::contiguous_optimum(p);
            CAPTURE(round);
            REQUIRE(found.proved);
            if (all.devices.empty()) {
                ++infeasible;
                CHECK(found.devices.empty());
                CHECK_FALSE(found.why.empty());
                continue;
            }
            ++feasible;
            tight += p.memory < 1e6 ? 1 : 0;
            REQUIRE_FALSE(found.devices.empty());
            CHECK(sp::trouble_of(p, found.devices) == "");
            CHECK(is_pipeline(p, found.devices));
            CHECK(found.load == doctest::Approx(all.load).epsilon(1e-9));
            CHECK(found.load == doctest::Approx(sp::max_load(p, found.devices)).epsilon(1e-9));
            CHECK(found.lower_bound <= all.load * (1 + 1e-9));
        }
    }
    CHECK(feasible > 350);
    CHECK(tight > 50);
    CHECK(infeasible > 20);
}

TEST_CASE("loads are those that the paper defines, of any split") {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        const sp::split_problem p = random_problem(random, {8, 4, round % 2 == 0, true});
        sp::split s;
        for (std::size_t v = 0; v < p.nodes.size(); ++v) {
            s.push_back(static_cast<int>(random() % static_cast<unsigned>(p.devices())));
        }
        const std::vector<double> load = sp::loads(p, s);
        for (int d = 0; d < p.devices(); ++d) {
            CHECK(load[tessera::to_size(d)] == doctest::Approx(load_of(p, s, d)));
        }
    }
}

TEST_CASE("a chain is cut into equal parts, and a part pays for both of its ends") {
    for (const int devices : {1, 2, 3, 4, 6}) {
        const sp::contiguous_found found = sp::contiguous_optimum(chain(24, devices, 0.25));
        const double inner = devices > 2 ? 0.5 : devices == 2 ? 0.25 : 0; // a middle piece pays for two cuts
        CHECK(found.load ==
              doctest::Approx(24.0 / devices + inner).epsilon(0.021)); // outer pieces may be longer by one
        CHECK(found.proved);
    }
    CHECK(sp::contiguous_optimum(chain(24, 2, 0.25)).load == doctest::Approx(12.25));
    CHECK(sp::contiguous_optimum(chain(24, 4, 100)).load == doctest::Approx(24)); // cuts cost more than they save
}

TEST_CASE("memory that is too small is said to be, with what would do") {
    sp::split_problem p = chain(10, 3, 0);
    p.memory = 3;
    const sp::contiguous_found none = sp::contiguous_optimum(p);
    CHECK(none.devices.empty());
    CHECK(none.proved);
    CHECK(test_support::contains(none.why, "with 4 bytes on each there is one"));
    p.memory = 4;
    CHECK_FALSE(sp::contiguous_optimum(p).devices.empty());
    p.memory = 3;
    p.cpus = 1; // has no limit
    CHECK_FALSE(sp::contiguous_optimum(p).devices.empty());
    sp::split_problem cannot = chain(3, 2, 0);
    cannot.nodes[1].accelerated = false;
    CHECK(test_support::contains(sp::contiguous_optimum(cannot).why, "node 1 runs on no accelerator"));
}

TEST_CASE("with too many downsets there is a split and a bound, but no proof") {
    sp::split_problem p = chain(4, 3, 0.1);
    for (int v = 4; v < 44; ++v) { // forty nodes that wait for nothing
        p.nodes.push_back({.id = v, .cpu_time = 10, .accelerator_time = 1.0 + v % 3, .output_cost = 0.1});
        p.edges.push_back({v, 3});
    }
    const sp::contiguous_found found = sp::contiguous_optimum(p, {.most_downsets = 10'000});
    CHECK_FALSE(found.proved);
    CHECK(found.downsets == 0);
    CHECK(sp::trouble_of(p, found.devices) == "");
    CHECK(found.lower_bound <= found.load);
    CHECK(found.load < 1.5 * found.lower_bound);
}

TEST_CASE("what is no sound problem is refused by name") {
    const auto refusal = [](auto change) {
        sp::split_problem p = chain(3, 2, 0.5);
        change(p);
        return test_support::message_of([&] { (void)sp::contiguous_optimum(p); });
    };
    using test_support::contains;
    CHECK(refusal([](auto&) {}) == "accepted");
    CHECK(contains(refusal([](auto& p) { p.edges.push_back({2, 0}); }), "cycle of nodes: 0 -> 1 -> 2 -> 0"));
    CHECK(contains(refusal([](auto& p) { p.edges.push_back({1, 1}); }), "joins node 1 to itself"));
    CHECK(contains(refusal([](auto& p) { p.edges.push_back({1, 3}); }), "but there are 3 nodes"));
    CHECK(contains(refusal([](auto& p) { p.nodes[2].id = 0; }), "two nodes have the id 0"));
    CHECK(contains(refusal([](auto& p) { p.nodes[1].size = -1; }), "node 1 has a size"));
    CHECK(contains(refusal([](auto& p) { p.nodes[1].cpu_time = std::nan(""); }), "node 1 has a time on a CPU"));
    CHECK(contains(refusal([](auto& p) { p.accelerators = 0; }), "at least one device"));
    CHECK(contains(refusal([](auto& p) { p.nodes[0].backward = true; }), "backward nodes come last"));
    CHECK(contains(refusal([](auto& p) {
                       p.nodes.clear();
                       p.edges.clear();
                   }),
                   "has no nodes"));
}
