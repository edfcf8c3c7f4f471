// SPDX-License-Identifier: Apache-2.0
// Bounds of strategies under the additive model: against all placements of small networks, and against what searches
// find.
#include "tessera/search/certified/bound.hpp"

#include "examples/networks.hpp"
#include "support/random_strategy.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

struct first : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct narrow : ts::linear<12> {};
struct out : ts::linear<5> {};
struct images : ts::sequential<ts::image<3, 8, 8>, first, ts::relu, ts::max_pool<2>, ts::flatten, narrow, ts::relu, out,
                               ts::cross_entropy> {};
struct inner : ts::linear<8> {};
struct tiny : ts::sequential<ts::features<16>, inner, out, ts::cross_entropy> {};

ts::machine uniform(int devices) {
    return {.devices = devices,
            .gigaflops = 50,
            .memory_megabytes = 20'000,
            .link_megabytes = 400,
            .link_latency = 300,
            .launch = 200};
}

/// Shards of every operator on devices of their own, drawn anew.
void scatter(ts::strategy& s, int devices, test_support::random& pick) {
    for (int op = 0; op < static_cast<int>(s.ops.size()); ++op) {
        std::vector<int> all(ts::to_size(devices));
        std::iota(all.begin(), all.end(), 0);
        for (int i = devices - 1; i > 0; --i) {
            std::swap(all[ts::to_size(i)], all[ts::to_size(pick(i + 1))]);
        }
        all.resize(ts::to_size(s.ops[ts::to_size(op)].shards()));
        s.place(op, all);
    }
}

/// A random strategy that passes nothing partial on, no two shards of an operator on one device.
ts::strategy scattered(const ts::graph_view& g, int devices, std::uint64_t seed) {
    test_support::coverage seen;
    test_support::random pick{seed + 77};
    ts::strategy s = test_support::random_strategy(g, devices / 2, seed, seen); // it makes up to twice as many shards
    for (ts::configuration& c : s.ops) {
        if (c.partial > 1 || c.shards() > devices) {
            c = {};
        }
    }
    scatter(s, devices, pick);
    return s;
}

/// The least time of one edge over all placements of the consumer, the producer's as they are.
index_t least_of_placements(const ts::graph_view& g, ts::strategy s, int producer, int consumer,
                            const ts::machine& on) {
    const ts::description from = g.describe(producer);
    const ts::description to = g.describe(consumer);
    const int input = to.find_operand(ts::operand_kind::input, 0);
    std::vector<int> all(ts::to_size(on.devices));
    std::iota(all.begin(), all.end(), 0);
    index_t least = INT64_MAX;
    do {
        const std::size_t kept = s.pool.size();
        s.place(consumer, all);
        least = std::min(least, ts::cost::bytes_between(from, s.ops[ts::to_size(producer)], to, input,
                                                        s.ops[ts::to_size(consumer)], s.pool.data(),
                                                        to.operands[input].differentiable)
                                    .time(on));
        s.pool.resize(kept);
    } while (std::next_permutation(all.begin(), all.end()));
    return least;
}

std::vector<index_t> edge_bound(const ts::graph_view& g, const ts::strategy& s, int producer, int consumer,
                                const ts::machine& on) {
    const ts::description from = g.describe(producer);
    const ts::description to = g.describe(consumer);
    const int input = to.find_operand(ts::operand_kind::input, 0);
    ts::cost::tiling<0, 0, 0> a;
    ts::cost::tiling<0, 0, 0> b;
    a.add(from, from.output(), s.ops[ts::to_size(producer)], s.pool.data());
    b.add(to, input, s.ops[ts::to_size(consumer)], s.pool.data());
    return ts::cost::least_edge_times(a, b, ts::bytes_of(to.operands[input].type), to.operands[input].differentiable,
                                      on);
}

/// Bytes that all shards hold.
index_t resident_in_all(const ts::graph_view& g, const ts::strategy& s) {
    const search::resident_bytes held(g, 0);
    index_t all = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        const ts::configuration& c = s.ops[ts::to_size(op)];
        for (int i = 0; i < c.shards(); ++i) {
            all += held.of(g, op, d, ts::shard_at(c, s.pool.data(), d, i));
        }
    }
    return all;
}

} // namespace

TEST_CASE("an edge's bound is below its time for every placement, and more often than not is that of the best one") {
    const ts::graph g = ts::describe<images>(6);
    const ts::machine on = uniform(4);
    int equal = 0;
    int edges = 0;
    int nothing = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const ts::strategy s = scattered(g.view(), 4, seed);
        for (int op = 1; op < g.view().op_count; ++op) {
            const index_t bound = edge_bound(g.view(), s, op - 1, op, on)[0];
            const index_t least = least_of_placements(g.view(), s, op - 1, op, on);
            REQUIRE(bound <= least);
            equal += bound == least ? 1 : 0;
            nothing += least == 0 ? 1 : 0;
            ++edges;
        }
    }
    MESSAGE(equal, " of ", edges, " equal, ", nothing, " take no time");
    CHECK(5 * (equal - nothing) >= 3 * (edges - nothing)); // a weaker bound is one, too, but of fewer
    CHECK(edges - nothing > 300);
}

TEST_CASE("a bound is never above the cost of a strategy of its space, wherever its shards run") {
    const ts::graph g = ts::describe<images>(6);
    const ts::machine on = uniform(4);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const ts::strategy s = scattered(g.view(), 4, seed);
        const search::strategy_bound b = search::bound_of(g.view(), on, s);
        REQUIRE(b.none == "");
        CHECK(b.cost == ts::cost::total_cost(g.view(), s, on));
        CHECK(b.bound > 0);
        // The space has this strategy's splits, so that its bound is one for others of these splits, too.
        for (std::uint64_t again = 0; again < 5; ++again) {
            ts::strategy other = s;
            test_support::random pick{seed * 31 + again};
            scatter(other, 4, pick);
            CHECK(b.bound <= ts::cost::total_cost(g.view(), other, on));
        }
    }
}

TEST_CASE("a strategy's own splits are part of the space, powers of two or not") {
    const ts::graph g = ts::describe<tiny>(30'000);
    const ts::machine on = uniform(3);
    const ts::strategy thirds = search::data_parallel(g.view(), 3);
    const search::strategy_bound b = search::bound_of(g.view(), on, thirds);
    CHECK(b.bound <= b.cost);
    CHECK(b.gap() < 0.05);
    const search::strategy_bound halves = search::bound_of(g.view(), on, search::data_parallel(g.view(), 2));
    CHECK(halves.bound > b.cost); // no split by powers of two is as fast
}

TEST_CASE("what is kept for the next strategy of a network changes no bound") {
    const ts::graph g = ts::describe<tiny>(30'000);
    const ts::graph_view view = g.view();
    ts::machine on = uniform(3);
    // No limit, enough for what holds no parameter twice, and for all.
    const index_t least = resident_in_all(view, search::single_device(view)) / 3 + 1;
    for (const index_t capacity : {index_t{0}, least, 2 * least}) {
        on.capacity = capacity;
        search::strategy_bounds bounds(view, on);
        const ts::strategy thirds = search::data_parallel(view, 3); // faster than any split by powers of two
        for (const ts::strategy& s : {search::data_parallel(view, 2), search::single_device(view), thirds,
                                      search::model_parallel(view, 2), thirds, search::single_device(view)}) {
            const search::strategy_bound kept = bounds.of(s);
            const search::strategy_bound fresh = search::bound_of(view, on, s);
            CHECK(kept.bound == fresh.bound);
            CHECK(kept.cost == fresh.cost);
            CHECK(kept.memory == fresh.memory);
        }
    }
}

TEST_CASE("the bound of a small network, against all strategies of two devices") {
    const ts::graph g = ts::describe<tiny>(8);
    const ts::machine on = uniform(2);
    std::vector<std::vector<ts::configuration>> offered;
    for (int op = 0; op < g.view().op_count; ++op) {
        offered.push_back(search::enumerate(g.view().describe(op), 2, search::bound_options{}.offered));
    }
    index_t least = INT64_MAX;
    ts::strategy best(g.view());
    ts::strategy s(g.view());
    const auto visit = [&](const auto& next, std::size_t op) -> void {
        if (op == offered.size()) {
            const index_t cost = ts::cost::total_cost(g.view(), s, on);
            if (cost < least) {
                least = cost;
                best = s;
            }
            return;
        }
        for (const ts::configuration& c : offered[op]) {
            for (int other = 0; other < 2; ++other) { // on both devices either way, or on one of the two
                s.ops[op] = c;
                s.ops[op].start = other;
                s.ops[op].stride = c.shards() == 2 && other == 1 ? -1 : 1;
                next(next, op + 1);
            }
        }
    };
    visit(visit, 0);
    const search::strategy_bound of_best = search::bound_of(g.view(), on, best);
    CHECK(of_best.bound == least);
    CHECK(of_best.gap() == 0);
    CHECK(to_text(of_best).find("the best possible under the additive model") == 0);
    const search::strategy_bound of_data = search::bound_of(g.view(), on, search::data_parallel(g.view(), 2));
    CHECK(of_data.bound == least);
    CHECK(of_data.cost > least);
    CHECK(to_text(of_data).find("at most ") == 0);
}

TEST_CASE("memory makes the bound higher, where the strategy fits") {
    const ts::graph g = ts::describe<tiny>(4096); // so that data parallel, with a copy of all parameters each, is best
    ts::machine on = uniform(4);
    const auto all_of = [&](const ts::strategy& how) { return resident_in_all(g.view(), how); };
    const ts::strategy one = search::single_device(g.view());
    const ts::strategy copies = search::data_parallel(g.view(), 4);
    REQUIRE(all_of(one) < all_of(copies));
    const search::strategy_bound free = search::bound_of(g.view(), on, one);
    CHECK(!free.memory);
    CHECK(free.bound < free.cost);
    on.capacity = all_of(copies) / 4 + 1;
    CHECK(search::bound_of(g.view(), on, one).memory);
    CHECK(search::bound_of(g.view(), on, one).bound == free.bound);
    on.capacity = all_of(one) / 4 + 1; // enough for whatever holds no parameter twice
    const search::strategy_bound tight = search::bound_of(g.view(), on, one);
    CHECK(tight.memory);
    CHECK(tight.bound > free.bound);
    CHECK(tight.bound <= tight.cost);
    // A strategy that does not fit itself is held against all.
    const search::strategy_bound beyond = search::bound_of(g.view(), on, copies);
    CHECK(!beyond.memory);
    CHECK(beyond.bound == free.bound);
}

TEST_CASE("what the additive model does not price has no bound, and says why") {
    const ts::graph g = ts::describe<images>(8);
    const ts::machine on = uniform(4);
    const auto why = [&](const ts::strategy& s) { return to_text(search::bound_of(g.view(), on, s)); };
    ts::strategy s = search::data_parallel(g.view(), 4);
    CHECK(search::bound_of(g.view(), on, s).none == "");
    s.micro_batches = 2;
    CHECK(why(s) == "no bound: the additive model knows no micro-batches, and the strategy has 2");
    s = search::data_parallel(g.view(), 4);
    s.ops[1].recompute = true;
    CHECK(why(s).find("no bound: layer '") == 0);
    s = search::data_parallel(g.view(), 4);
    s.ops[0].stride = 0;
    CHECK(why(s).find("share a device") != std::string::npos);
    s = search::data_parallel(g.view(), 4);
    s.parameters_on = 0;
    CHECK(why(s).find("parameters that one device keeps") != std::string::npos);
    s = search::data_parallel(g.view(), 4);
    s.statistics = ts::statistics_over::replica;
    CHECK(why(s).find("statistics of each replica") != std::string::npos);
    search::bound_options few;
    few.most_work = 10;
    CHECK(to_text(search::bound_of(g.view(), on, search::data_parallel(g.view(), 4), few)).find("its tables") !=
          std::string::npos);
    CHECK_THROWS_AS((void)search::bound_of(g.view(), uniform(2), search::data_parallel(g.view(), 4)), ts::error);
}
