// SPDX-License-Identifier: Apache-2.0
#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/simulate/critical_path.hpp"
#include "tests/support/delta_against_full.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

struct stem : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct inner : ts::conv2d<8, ts::window<3>, ts::padding<1>, ts::groups<2>> {};
struct left : ts::conv2d<4, ts::window<1>> {};
struct right : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct wide : ts::linear<12> {};
struct again : ts::linear<12> {};
struct head : ts::linear<6> {};

/// Joins, views, statistics, partial sums that are passed on, and a parameter that three operators share.
struct mixed : ts::sequential<ts::image<4, 8, 8>, stem, norm, ts::relu, ts::residual<inner, ts::relu>,
                              ts::residual<ts::residual<ts::relu>>,
                              ts::branches<ts::concat, ts::branch<left>, ts::branch<right>>, ts::average_pool<2>,
                              ts::flatten, wide, again, ts::relu, ts::shared<again>, ts::relu,
                              ts::residual<ts::shared<again>, ts::dropout<50>>, head, ts::cross_entropy> {};

struct one;
struct other;
struct gold;
struct product;
struct logits;
struct loss;
/// Its first operator takes two inputs.
using two_inputs = ts::dag<ts::input<one, ts::features<8>>, ts::input<other, ts::features<8>>,
                           ts::input<gold, ts::labels>, ts::node<product, ts::multiply, one, other>,
                           ts::node<logits, ts::linear<6>, product>, ts::node<loss, ts::cross_entropy, logits, gold>>;

struct same : ts::linear<64> {};
struct tower : ts::sequential<ts::features<64>, ts::repeat<8, same>, head, ts::cross_entropy> {};

/// Random proposals for one to three operators, some accepted; every one compared with a full simulation of a full
/// lowering.
void check_against_full(const ts::graph& network, const ts::cluster& on, int draws, std::uint64_t seed,
                        const ts::optimizer& update = ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F},
                        ts::statistics_over statistics = ts::statistics_over::micro_batch) {
    test_support::coverage seen;
    test_support::delta_findings found;
    test_support::random pick{seed};
    ts::strategy s = test_support::random_strategy(network.view(), on.devices(), seed, seen);
    s.statistics = statistics;
    ts::lower_options o;
    o.update = update;
    test_support::compare_proposals("seed " + std::to_string(seed), network.view(), on, s, {}, o, draws, pick, seen,
                                    found);
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK((update.clip_norm > 0 ? found.whole : found.compared) > draws / 3);
    CHECK(found.compared + found.whole + found.illegal == draws);
}

} // namespace

TEST_CASE("delta: bit-identical to full, a network with joins, views, statistics and shared parameters") {
    const ts::graph g = ts::describe<mixed>(6);
    check_against_full(g, ts::cluster(ts::machines::p100_nodes(2, 2)), 160, 1);
    check_against_full(g, ts::cluster(ts::machines::p100_nodes(2)), 100, 2);
    check_against_full(g, ts::cluster(ts::machines::this_host(3)), 100, 3);
    check_against_full(g, ts::cluster(ts::machines::heterogeneous()), 100, 4);
    const ts::sgd update{.learning_rate = 0.1F, .momentum = 0.9F};
    check_against_full(g, ts::cluster(ts::machines::p100_nodes(2)), 100, 13, update, ts::statistics_over::replica);
    const ts::graph larger = ts::describe<mixed>(16);
    check_against_full(larger, ts::cluster(ts::machines::p100_nodes(2)), 100, 12); // statistics summed in slices
}

TEST_CASE(
    "delta: bit-identical to full where links are the bottleneck: what was on them before a change is forgotten") {
    ts::device_graph machine;
    machine.add_class({"d", {100000, 100000, 100000}, 10000, 0, 100, false});
    for (int d = 0; d < 4; ++d) {
        machine.add_device(0, std::to_string(d));
        for (int other = 0; other < d; ++other) {
            machine.add_link(other, d, 1, 10);
        }
    }
    const ts::cluster on(machine);
    check_against_full(ts::describe<two_inputs>(8), on, 150, 21);
    check_against_full(ts::describe<networks::mlp>(16), on, 100, 22);
    check_against_full(ts::describe<networks::lenet5>(16), on, 100, 23);
}

TEST_CASE("delta: bit-identical to full, LeNet-5 and an MLP") {
    check_against_full(ts::describe<networks::lenet5>(16), ts::cluster(ts::machines::k80_nodes(2)), 150, 5);
    check_against_full(ts::describe<networks::mlp>(16), ts::cluster(ts::machines::p100_nodes(1)), 150, 6);
}

TEST_CASE("critical path: its parts add up to the makespan") {
    const ts::graph network = ts::describe<mixed>(6);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    test_support::coverage seen;
    index_t moved = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const ts::strategy s = test_support::random_strategy(g, 4, seed, seen);
        const ts::plan p = ts::lower(g, s.view(), 4);
        sim::task_activities activities(on, g, {});
        const sim::critical_time t = sim::critical_path(p, activities);
        CHECK(t.compute + t.transfer + t.synchronization + t.waiting == sim::simulate(p, activities).makespan);
        CHECK(t.compute > 0);
        moved += t.transfer;
    }
    CHECK(moved > 0);
}

TEST_CASE("critical path: on one device that copies in turn it is all there is, each task where it belongs") {
    for (const ts::graph& network : {ts::describe<mixed>(6), ts::describe<two_inputs>(4)}) {
        const ts::cluster on(ts::machines::this_host(1));
        const ts::plan p = ts::lower(network.view(), ts::search::single_device(network.view()).view(), 1);
        sim::task_activities activities(on, network.view(), {});
        const sim::timeline t = sim::simulate(p, activities);
        sim::critical_time sum;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const index_t takes = t.tasks[i].end - t.tasks[i].start;
            switch (p.tasks[i].kind()) {
            case ts::task_kind::compute:
                sum.compute += takes;
                break;
            case ts::task_kind::copy:
                (p.tasks[i].what == ts::pass::update ? sum.synchronization : sum.transfer) += takes;
                break;
            default:
                sum.synchronization += takes;
            }
        }
        CHECK(sim::critical_path(p, activities) == sum);
        CHECK(sum.synchronization > 0);
    }
}

TEST_CASE("least work: below what an operator's tasks take, and where memory is free by 8 ns at most") {
    ts::device_graph machine;
    machine.add_class({"d", {1000, 1000, 1000}, 1'000'000'000, 0, 0, false});
    for (int d = 0; d < 4; ++d) {
        machine.add_device(0, std::to_string(d));
    }
    const int hub = machine.add_switch("hub");
    for (int d = 0; d < 4; ++d) {
        machine.add_link(d, hub, 1000, 0);
    }
    const ts::cluster on(machine);
    const ts::graph network = ts::describe<mixed>(6);
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    index_t most = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const ts::strategy s = test_support::random_strategy(g, 4, seed, seen);
        const ts::plan p = ts::lower(g, s.view(), 4);
        const sim::least_work least(g, {});
        for (int op = 0; op < g.op_count; ++op) {
            std::vector<index_t> bound(4, 0);
            for (const sim::device_work& x : least.of(ts::change_of(s, op), on)) {
                bound[ts::to_size(x.device)] += x.work;
            }
            std::vector<index_t> takes(4, 0);
            std::vector<index_t> shards(4, 0);
            for (const ts::task& t : p.tasks) {
                if (t.kind() == ts::task_kind::compute && t.op == op) {
                    takes[ts::to_size(t.device)] +=
                        sim::task_times{}(g, g.describe(op), p.tiles, t, on.class_of(t.device));
                    shards[ts::to_size(t.device)] += t.what == ts::pass::forward ? 1 : 0;
                }
            }
            for (std::size_t d = 0; d < 4; ++d) {
                CHECK(bound[d] <= takes[d]);
                const ts::op_kind kind = g.ops[op].attributes.kind;
                if (kind == ts::op_kind::conv2d || kind == ts::op_kind::linear) {
                    CHECK(takes[d] - bound[d] <= 8 * shards[d]); // one step forward is one shard
                    most = std::max(most, bound[d]);
                }
            }
        }
    }
    CHECK(most > 100);
}

TEST_CASE(
    "delta: what a device computes, with what follows its last task, is enough to see that a change takes too long") {
    const ts::graph network = ts::describe<tower>(64);
    const ts::graph_view g = network.view();
    ts::device_graph machine;
    machine.add_class({"d", {1000, 1000, 1000}, 10000, 0, 100, false});
    machine.add_device(0, "0");
    machine.add_device(0, "1");
    machine.add_link(0, 1, 1000, 10); // what crosses ends after the updates beside it
    const ts::cluster on(machine);
    ts::strategy s = ts::search::single_device(g);
    for (int op = 0; op < 3; ++op) { // goes forward first and backward last, while device 0 rests
        s.place(op, {1});
    }
    const ts::plan p = ts::lower(g, s.view(), 2);
    index_t late = 0;   // what device 0 computes
    index_t behind = 0; // and device 1 after that, one gradient after the other
    for (const ts::task& t : p.tasks) {
        if (t.kind() == ts::task_kind::compute) {
            const index_t takes = sim::task_times{}(g, g.describe(t.op), p.tiles, t, on.class_of(t.device));
            late += t.device == 0 ? takes : 0;
            behind += t.device == 1 && t.what == ts::pass::backward_input ? takes : 0;
        }
    }
    sim::delta_simulation delta(g, on, s);
    const ts::change first = ts::place_on(0, s.ops[0], {1});
    REQUIRE(delta.propose({first}) == delta.makespan());
    CHECK(delta.visited() > 0);
    delta.reject();
    CHECK(delta.propose({first}, late + behind) == INT64_MAX);
    CHECK(delta.visited() == 0); // known before anything is simulated
    delta.reject();
}

TEST_CASE("delta: with clipping, and in micro-batches, every change is simulated as a whole") {
    const ts::graph g = ts::describe<networks::mlp>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    check_against_full(g, on, 60, 7, ts::optimizer(ts::adam{}, 1.0F));
    ts::strategy s = ts::search::data_parallel(g.view(), 4);
    s.micro_batches = 2;
    const sim::delta_simulation staged(g.view(), on, s);
    CHECK_FALSE(staged.is_incremental());
    const test_support::whole_simulation expected(g.view(), on, s, {}, {});
    CHECK(staged.makespan() == expected.seen.makespan);
    CHECK(staged.spans() == expected.seen.tasks);
    CHECK_THROWS_AS(sim::operator_lowering(g.view(), s, 4), ts::error);
}
