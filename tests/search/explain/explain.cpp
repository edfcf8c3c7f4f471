// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/explain/explain.hpp"

#include "examples/networks.hpp"
#include "support/random_pipeline.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/search/explain/print.hpp"
#include "tessera/search/pipeline.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

ts::index_t step_of(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    return ts::simulation::simulate(g, ts::lower(g, s.view(), on.devices()), on).makespan;
}

} // namespace

TEST_CASE("movements: together they are what the plan moves") {
    const ts::graph network = ts::describe<networks::lenet5>(12);
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const ts::strategy s = test_support::random_pipeline(network.view(), 5, seed, seen).how;
        const ts::plan p = ts::lower(network.view(), s.view(), 5);
        ts::index_t sum = 0;
        for (const ts::movement& m : ts::movements_of(network.view(), p)) {
            CHECK(m.bytes > 0);
            sum += m.bytes;
        }
        CHECK(sum == p.moved_bytes);
    }
}

TEST_CASE("explain: every alternative costs what a plan with it costs") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::graph network = ts::describe<networks::lenet5>(16);
    const ts::graph_view g = network.view();
    ts::strategy s = search::data_parallel(g, 4);
    s.place(3, {3, 1, 0, 2});
    for (const int op : {0, 3, 7}) {
        const search::explanation e = search::explain(g, on, s, op);
        CHECK(e.step == step_of(g, s, on));
        int chosen = 0;
        ts::index_t before = 0;
        for (const search::alternative& a : e.alternatives) {
            ts::strategy changed = s;
            changed.ops[ts::to_size(op)] = a.what;
            changed.place(op, a.devices);
            CHECK(a.step == step_of(g, changed, on));
            CHECK(a.step >= before);
            before = a.step;
            chosen += a.chosen ? 1 : 0;
            // With the costs of all other operators the additive model's parts make its total.
            const ts::machine uniform = ts::uniform_machine(on);
            const ts::index_t total = ts::cost::total_cost(g, changed, uniform);
            CHECK(a.compute + a.synchronization + a.transfer <= total);
        }
        CHECK(chosen == 1);
        // As many as are offered, those on the operator's own devices, and the chosen one where it lies elsewhere.
        CHECK(e.alternatives.size() >= search::enumerate(g.describe(op), 4).size());
        for (const ts::movement& m : e.moves) {
            CHECK(ts::concerns(g, m, op));
        }
    }
}

TEST_CASE("explain: differences of the additive costs are differences of the total") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::graph network = ts::describe<networks::lenet5>(16);
    const ts::graph_view g = network.view();
    const ts::strategy s = search::one_weird_trick(g, 4);
    const ts::machine uniform = ts::uniform_machine(on);
    const search::explanation e = search::explain(g, on, s, 7);
    ts::index_t rest = -1; // what all other operators and edges cost, whatever this one does
    for (const search::alternative& a : e.alternatives) {
        ts::strategy changed = s;
        changed.ops[7] = a.what;
        changed.place(7, a.devices);
        const ts::index_t others =
            ts::cost::total_cost(g, changed, uniform) - a.compute - a.synchronization - a.transfer;
        CHECK((rest < 0 || others == rest));
        rest = others;
    }
}

TEST_CASE("explain: pipelines, and operators that do not exist") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::graph network = ts::describe<networks::lenet5>(16);
    const ts::graph_view g = network.view();
    const auto stage = ts::schedule::balance_stages(search::operator_times(g, on.class_of(0)), 2);
    const ts::strategy s = search::pipeline(g, stage, ts::schedule::gpipe(2, 4), 2);
    const int last = g.op_count - 2; // in the second stage, on devices 2 and 3
    REQUIRE(stage[ts::to_size(last)] == 1);
    const search::explanation e = search::explain(g, on, s, last);
    CHECK(e.alternatives.size() > 3);
    for (const search::alternative& a : e.alternatives) {
        ts::strategy changed = s;
        changed.ops[ts::to_size(last)] = a.what;
        changed.place(last, a.devices);
        CHECK(a.step == step_of(g, changed, on));
        for (const int d : a.devices) {
            CHECK(d >= 2);
        }
    }
    CHECK_THROWS_AS(search::explain(g, on, s, g.op_count), ts::error);
    CHECK_THROWS_AS(search::explain(g, on, s, -1), ts::error);
}

TEST_CASE("difference: what differs, and nothing else") {
    const ts::graph network = ts::describe<networks::lenet5>(12);
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const ts::strategy s = test_support::random_pipeline(g, 4, seed, seen).how;
        CHECK(!search::difference(g, s, s).any());
        ts::strategy moved = s; // the same in other words: every device by name
        for (int op = 0; op < g.op_count; ++op) {
            const ts::description d = g.describe(op);
            std::vector<int> devices;
            for (int i = 0; i < s.ops[ts::to_size(op)].shards(); ++i) {
                devices.push_back(ts::shard_at(s.ops[ts::to_size(op)], s.pool.data(), d, i).device);
            }
            moved.place(op, devices);
        }
        CHECK(!search::difference(g, s, moved).any());
        const auto op = static_cast<int>(seed) % g.op_count;
        moved.ops[ts::to_size(op)].recompute = !moved.ops[ts::to_size(op)].recompute;
        const search::strategy_difference d = search::difference(g, s, moved);
        REQUIRE(d.ops.size() == 1);
        CHECK((d.ops[0].op == op && d.ops[0].words == std::vector<std::string>{"recompute"}));
    }
    const ts::strategy whole(g);
    ts::strategy other(g);
    other.ops[0].degree[0] = 3;
    other.cut(0, 0, {2, 8});
    other.micro_batches = 2;
    ts::strategy even = other;
    even.ops[0].cuts[0] = -1;
    CHECK(search::difference(g, even, other).ops[0].has("splits"));
    const search::strategy_difference d = search::difference(g, whole, other);
    REQUIRE(d.ops.size() == 1);
    CHECK((d.ops[0].words == std::vector<std::string>{"splits", "devices"} &&
           d.words == std::vector<std::string>{"micro-batches"}));
    CHECK(search::to_text(g, d, whole, other, "a", "b") == "micro-batches: 1 in a, 2 in b\n"
                                                           "1 of 13 operators differ\n"
                                                           "layer  a       b                    differs in\n"
                                                           "conv1  - on 0  sample/3@2,8 on 0-2  splits devices\n");
    ts::strategy ordered(g);
    ordered.schedule = ts::schedule::gpipe(2, 2);
    CHECK(search::difference(g, ordered, whole).has("schedule"));
    CHECK(search::difference(g, whole, ordered).has("schedule"));
    CHECK(!search::difference(g, ordered, ordered).any());
    ts::strategy turns = ordered;
    turns.schedule = ts::schedule::one_forward_one_backward(2, 2);
    CHECK(search::difference(g, ordered, turns).has("schedule"));
    CHECK(search::to_text(g, search::difference(g, whole, whole), whole, whole) == "the strategies are the same\n");
    CHECK_THROWS_AS(search::difference(g, whole, ts::strategy{}), ts::error);
}

TEST_CASE("explain: an alternative of as many shards is offered where the operator is, too") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::graph network = ts::describe<networks::lenet5>(16);
    ts::strategy s = search::data_parallel(network.view(), 2);
    s.place(0, {3, 1});
    const std::vector<int> own{3, 1};
    int here = 0;
    for (const search::alternative& a : search::explain(network.view(), on, s, 0).alternatives) {
        here += !a.chosen && a.devices == own ? 1 : 0;
        CHECK(static_cast<int>(a.devices.size()) == a.what.shards());
    }
    int others = -1; // the chosen one is known
    for (const ts::configuration& c : search::enumerate(network.view().describe(0), 4)) {
        others += c.shards() == 2 ? 1 : 0;
    }
    CHECK(here == others);
    CHECK(others > 1);
}

TEST_CASE("explain: as text") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::graph network = ts::describe<networks::lenet5>(16);
    const ts::graph_view g = network.view();
    const search::explanation e = search::explain(g, on, search::data_parallel(g, 4), 3);
    const std::string text = search::to_text(g, e, 5);
    CHECK(text.rfind("why conv2 (conv2d, output 16x16x10x10) is as it is: a step takes ", 0) == 0);
    CHECK(text.find("\n>  sample/4") != std::string::npos);
    CHECK(text.find("slower ones are left out") != std::string::npos);
    CHECK(text.find("gradients of the parameter conv2/weight") != std::string::npos);
    CHECK(text.find("new values of the parameter conv2/weight") != std::string::npos);
}
