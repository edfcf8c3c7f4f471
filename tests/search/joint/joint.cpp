// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/joint/search.hpp"

#include "support/refusal.hpp"
#include "support/small_gpt.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/random_numbers.hpp"
#include "tests/support/networks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using search::parallelism;
using search::shared_by;
using ts::index_t;

search::joint_cost whole_plan(const ts::graph& g, const ts::cluster& on, const ts::strategy& s) {
    const search::finished_step x = search::simulate_finished(g.view(), on, s, {}, test_support::with_adam());
    return {x.makespan, 0, *std::max_element(x.peak_bytes.begin(), x.peak_bytes.end())};
}

double error(index_t estimated, index_t known) {
    return std::abs(static_cast<double>(estimated) / static_cast<double>(known) - 1);
}

search::joint_options with_adam() {
    search::joint_options o;
    o.lowering = test_support::with_adam();
    return o;
}

/// A point of the space of so many devices, at random: degrees that divide devices and batch.
parallelism random_point(search::random_numbers& pick, int devices, index_t batch, int blocks) {
    using kind = ts::recompute_rule::kind;
    parallelism x;
    const auto divisor_of = [&](index_t n) {
        int d = 1 + pick(static_cast<int>(n));
        while (n % d != 0) {
            d = 1 + pick(static_cast<int>(n));
        }
        return d;
    };
    do {
        x.stages = divisor_of(devices);
    } while (x.stages > blocks);
    x.share = divisor_of(devices / x.stages);
    x.data = devices / x.stages / x.share;
    x.how = x.share > 1 ? static_cast<shared_by>(pick(4)) : shared_by::tensor;
    x.micro_batches = divisor_of(batch / x.data);
    if (x.stages > 1 && 2 * x.stages <= blocks && x.micro_batches % x.stages == 0) {
        x.chunks = 1 + pick(2);
    }
    x.zero = x.data > 1 ? std::array{0, 2, 3}[static_cast<std::size_t>(pick(3))] : 0;
    x.recomputed.which = std::array{kind::none, kind::selective, kind::blocks}[static_cast<std::size_t>(pick(3))];
    return x;
}

} // namespace

TEST_CASE("joint: degrees are the strategies that people know by name") {
    const ts::graph g = ts::describe<test_networks::small_gpt<5>>(16);
    const ts::cluster on(ts::machines::h100_nodes(1));
    const auto of = [&](const parallelism& x) { return search::strategy_of(g.view(), on, x); };
    CHECK(of({.data = 8}).ops == search::data_parallel(g.view(), 8).ops);
    CHECK(of({.data = 2, .share = 4}).ops == search::megatron_sp(g.view(), 2, 4).ops);
    CHECK(of({.data = 2, .share = 4, .how = shared_by::ulysses}).ops == search::ulysses(g.view(), 2, 4).ops);
    CHECK(of({.data = 2, .share = 4, .how = shared_by::ring}).ops == search::ring_attention(g.view(), 2, 4).ops);
    const ts::strategy zigzag = of({.data = 2, .share = 4, .how = shared_by::zigzag});
    CHECK(zigzag.ops == search::zigzag_attention(g.view(), 2, 4).ops);
    CHECK(zigzag.pool == search::zigzag_attention(g.view(), 2, 4).pool);
    CHECK(of({.data = 8, .zero = 3}).sync.shards_parameters);
    CHECK(to_text(parallelism{.data = 2,
                              .share = 2,
                              .how = shared_by::ring,
                              .stages = 2,
                              .chunks = 2,
                              .micro_batches = 4,
                              .zero = 3,
                              .recomputed = {ts::recompute_rule::kind::selective}}) ==
          "data 2 x ring 2 x stages 2 (2 chunks each), 4 micro-batches, ZeRO-3, recomputes selective");
    CHECK_THROWS_WITH_AS(of({.data = 1, .share = 3}), doctest::Contains("heads"), ts::error);
}

TEST_CASE("joint: stages follow each other over groups of devices, pieces of a ring too") {
    const ts::graph g = ts::describe<test_networks::small_gpt<8>>(16);
    const ts::cluster on(ts::machines::h100_nodes(1));
    search::few_block_estimator estimate(g.view(), on);
    const parallelism x{.data = 2, .share = 2, .how = shared_by::zigzag, .stages = 2, .chunks = 2, .micro_batches = 4};
    const ts::strategy s = search::strategy_of(g.view(), on, x, estimate.parts_of(x));
    CHECK(s.micro_batches == 4);
    CHECK(s.schedule.stages == 4);
    std::vector<int> used;
    for (int op = 0; op < g.view().op_count; ++op) {
        const ts::configuration& c = s.ops[static_cast<std::size_t>(op)];
        const ts::description d = g.view().describe(op);
        for (int i = 0; i < c.shards(); ++i) {
            CHECK(ts::shard_at(c, s.pool.data(), d, i).device / 4 == c.stage % 2);
        }
        if (used.empty() || used.back() != c.stage) {
            used.push_back(c.stage);
        }
    }
    CHECK(used == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("joint: a few blocks, replicas and micro-batches say what the whole plan takes") {
    const ts::graph g = ts::describe<test_networks::small_gpt<8>>(32);
    const ts::cluster on(ts::machines::h100_nodes(1));
    search::few_block_estimator estimate(g.view(), on, test_support::with_adam());
    REQUIRE(estimate.estimates());
    search::random_numbers pick{20261128};
    double time = 0; // means
    double bytes = 0;
    for (int trial = 0, made = 0; made < 20 && trial < 200; ++trial) {
        const parallelism x = random_point(pick, 8, 32, 8);
        ts::strategy s;
        search::joint_cost c;
        try {
            s = search::strategy_of(g.view(), on, x, estimate.parts_of(x));
            c = estimate(x);
        } catch (const ts::error&) { // positions or heads that do not divide
            continue;
        }
        ++made;
        const search::joint_cost known = whole_plan(g, on, s);
        INFO(to_text(x) << ": " << c.step << " of " << known.step << " ns, " << c.bytes << " of " << known.bytes);
        CHECK(error(c.step, known.step) < 0.35);
        CHECK(error(c.bytes, known.bytes) < 0.25);
        time += error(c.step, known.step) / 20;
        bytes += error(c.bytes, known.bytes) / 20;
    }
    CHECK(time < 0.12);
    CHECK(bytes < 0.06);
}

TEST_CASE("joint: nothing that memory allows is faster by 2 %, all simulated whole") {
    const ts::graph g = ts::describe<test_networks::small_gpt<5>>(8);
    for (const index_t memory : {index_t{1} << 40, index_t{120'000'000}}) {
        ts::device_graph machine = ts::machines::p100_nodes(2, 2);
        machine.classes[0].memory_bytes = memory;
        const ts::cluster on(machine);
        const search::joint_result r = search::search_joint(g.view(), on, with_adam());
        const search::joint_cost found = whole_plan(g, on, r.found);
        CHECK(r.best.simulated.step == found.step);
        CHECK(found.step >= r.least);
        REQUIRE(found.bytes <= memory);
        std::set<int> stored; // where memory is short all ways to store are looked at, and to recompute
        std::set<ts::recompute_rule::kind> kept;
        for (const search::joint_candidate& c : r.all) {
            stored.insert(c.what.zero);
            kept.insert(c.what.recomputed.which);
        }
        CHECK((memory > 1'000'000'000 || (stored.size() == 3 && kept.size() == 3)));
        search::few_block_estimator parts(g.view(), on, test_support::with_adam());
        search::random_numbers pick{7};
        int tried = 0;
        for (int i = 0; i < 24; ++i) {
            const parallelism x = random_point(pick, 4, 8, 5);
            search::joint_cost other;
            try {
                other = whole_plan(g, on, search::strategy_of(g.view(), on, x, parts.parts_of(x)));
            } catch (const ts::error&) {
                continue;
            }
            ++tried;
            INFO(to_text(r.best.what) << " " << found.step << " against " << to_text(x) << " " << other.step);
            CHECK((other.bytes > memory || static_cast<double>(found.step) <= 1.02 * static_cast<double>(other.step)));
        }
        CHECK(tried > 6);
    }
}

TEST_CASE("joint: what is asked for is kept to") {
    const ts::graph g = ts::describe<test_networks::small_gpt<5>>(16);
    const ts::cluster on(ts::machines::h100_nodes(1));
    search::joint_options o = with_adam();
    const ts::recompute_rule full{ts::recompute_rule::kind::blocks};
    o.zero = 3;
    o.micro_batches = 2;
    o.recomputed = &full;
    const search::joint_result r = search::search_joint(g.view(), on, o);
    for (const search::joint_candidate& c : r.all) {
        CHECK(c.what.zero == 3);
        CHECK(c.what.micro_batches == 2);
        CHECK(c.what.recomputed == full);
    }
    CHECK(r.found.sync.shards_parameters);
    CHECK(r.found.micro_batches == 2);
    o.micro_batches = 3;
    CHECK_THROWS_WITH_AS(search::search_joint(g.view(), on, o),
                         "tessera: no data, tensor and pipeline degrees of 8 devices divide a batch of 16 samples in 3 "
                         "micro-batches; a batch of 24 or a multiple of it can be divided",
                         ts::error);
}

TEST_CASE("joint: Ctrl-C ends it with the best so far") {
    const ts::graph g = ts::describe<test_networks::small_gpt<5>>(16);
    const ts::cluster on(ts::machines::h100_nodes(1));
    std::atomic<bool> stop{false};
    search::joint_options o = with_adam();
    o.interrupted = &stop;
    const auto after_three = [&](const search::search_progress& now) { stop = now.made >= 3; };
    o.report = after_three;
    const search::joint_result r = search::search_joint(g.view(), on, o);
    CHECK(r.interrupted);
    CHECK(r.all.size() == 3);
    ts::require(g.view(), r.found.view(), 8);
}

TEST_CASE("joint: a network that repeats nothing is simulated whole") {
    const ts::graph g = ts::describe<test_networks::translator::network>(8);
    const ts::cluster on(ts::machines::p100_nodes(1, 2));
    search::joint_options o = with_adam();
    const search::joint_result r = search::search_joint(g.view(), on, o);
    CHECK(whole_plan(g, on, r.found).step == r.best.cost().step);
    for (const search::joint_candidate& c : r.all) {
        CHECK((!c.fits || c.cost().step >= r.best.cost().step));
    }
}
