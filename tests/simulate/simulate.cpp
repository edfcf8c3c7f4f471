// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/simulate.hpp"

#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tests/support/planned.hpp"
#include "tests/support/random_strategy.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using test_support::planned;
namespace sim = tessera::simulation;
using ts::index_t;

struct wide : ts::linear<8> {};
struct head : ts::linear<4> {};
struct two_layers : ts::sequential<ts::features<6>, wide, ts::relu, head, ts::cross_entropy> {};

struct stem : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct classes : ts::linear<6> {};
struct convnet : ts::sequential<ts::image<4, 8, 8>, stem, norm, ts::residual<ts::relu>, ts::average_pool<2>,
                                ts::flatten, classes, ts::cross_entropy> {};

ts::cluster pair_of(bool in_turn) {
    ts::device_graph g;
    g.add_class({"d", {100, 100, 100}, 1000, 0, 50, in_turn});
    g.add_device(0, "a");
    g.add_device(0, "b");
    g.add_link(0, 1, 500, 30);
    return ts::cluster(g);
}

index_t own_time(const ts::graph_view& g, const ts::plan& p, const ts::task& t, const ts::cluster& on) {
    return sim::task_times{}(g, g.describe(t.op), p.tiles, t, on.class_of(t.device));
}

} // namespace

TEST_CASE("simulate: one device takes the sum of its tasks' times, whether it copies in turn or beside") {
    for (const bool in_turn : {false, true}) {
        const ts::cluster on = pair_of(in_turn);
        const ts::graph g = ts::describe<two_layers>(4);
        const ts::plan p = planned(g.view(), ts::search::single_device(g.view()), 2);
        const sim::timeline t = sim::simulate(g.view(), p, on);
        index_t sum = 0;
        index_t compute = 0;
        index_t copies = 0;
        index_t starts = 0;
        for (const ts::task& x : p.tasks) {
            REQUIRE(x.kind() != ts::task_kind::reduce);
            // Inputs are copied from the caller's memory: read and written once.
            const index_t input = x.kind() == ts::task_kind::copy
                                      ? 2 * p.tiles[ts::to_size(x.writes[0])].elements * 4 * 1000 * 100 / (1000 * 75) +
                                            1 + (in_turn ? 50 : 0)
                                      : own_time(g.view(), p, x, on);
            sum += input;
            copies += x.kind() == ts::task_kind::copy ? input : 0;
            starts += x.kind() == ts::task_kind::update ? 50 : 0;
            compute += x.kind() == ts::task_kind::compute ? own_time(g.view(), p, x, on) : 0;
        }
        CHECK(t.device_busy[0] == (in_turn ? sum : compute + copies));
        if (in_turn) {
            CHECK(t.makespan == sum);
            // updates share the engine with the computation; only that they start hides behind it, but for the last
            // two's
        } else {
            CHECK(t.makespan > sum - starts);
            CHECK(t.makespan <= sum - starts + 2 * 50);
        }
        CHECK(t.device_busy[1] == 0);
        CHECK(t.peak_bytes[0] == p.arena_bytes[0] + p.persistent_bytes[0]);
    }
}

TEST_CASE("simulate: two devices and one link, layer by layer") {
    const ts::cluster on = pair_of(false);
    const ts::graph g = ts::describe<two_layers>(4);
    ts::strategy s(g.view());
    for (int op = 2; op < g.view().op_count; ++op) {
        s.place(op, {1});
    }
    const ts::plan p = planned(g.view(), s, 2);
    const sim::timeline t = sim::simulate(g.view(), p, on);
    index_t expected = 0;
    index_t sent = 0;
    for (const ts::task& x :
         p.tasks) { // updates are hidden but the last, those of the first layer, and the second one's start among them
        if (x.kind() == ts::task_kind::compute) {
            expected += own_time(g.view(), p, x, on);
        } else if (x.kind() == ts::task_kind::copy && p.tiles[ts::to_size(x.reads[0])].device >= 0) {
            const index_t wire = 30 + (4 * 8 * 4 * 1000 + 1) / 500;
            CHECK(t.tasks[ts::to_size(&x - p.tasks.data())].end - t.tasks[ts::to_size(&x - p.tasks.data())].start ==
                  wire);
            expected += wire;
            ++sent;
        }
    }
    CHECK(sent == 2);   // the activation and its gradient
    index_t inputs = 0; // uploads take their places in the devices' lists
    index_t last_update = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        if (p.tasks[i].kind() == ts::task_kind::copy && p.tiles[ts::to_size(p.tasks[i].reads[0])].device < 0) {
            inputs += t.tasks[i].end - t.tasks[i].start;
        }
        last_update = p.tasks[i].kind() == ts::task_kind::update ? std::max(last_update, t.tasks[i].end) : last_update;
    }
    CHECK(t.makespan == last_update);
    index_t updates_after = 0; // of the first layer, one after the other, once its gradients are there
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        updates_after +=
            p.tasks[i].kind() == ts::task_kind::update && p.tasks[i].op == 0 ? t.tasks[i].end - t.tasks[i].start : 0;
    }
    CHECK(t.makespan <= inputs + expected + updates_after);
    CHECK(t.makespan >= inputs + expected + updates_after - 50);
}

TEST_CASE("simulate: data parallelism on two devices shares every gradient by two halves of an all-reduce") {
    const ts::cluster on = pair_of(false);
    const ts::graph g = ts::describe<two_layers>(4);
    const ts::plan p = planned(g.view(), ts::search::data_parallel(g.view(), 2), 2);
    const sim::timeline t = sim::simulate(g.view(), p, on);
    int groups = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& x = p.tasks[i];
        if (x.kind() != ts::task_kind::update || x.op != g.view().op_count - 2 || x.params().slice != 0) {
            continue;
        }
        ++groups;
        const index_t bytes = p.tiles[ts::to_size(x.writes[0])].elements * 4;
        const index_t half = 30 + bytes * 1000 / (2 * 500); // one round of half of the bytes, both directions at once
        const index_t own = 50 + 3 * (bytes / 2) * 1000 * 100 / (1000 * 75) + 1;
        CHECK(t.tasks[i].end - t.tasks[i].start >= 2 * half + own - 2);
        CHECK(t.tasks[i].end == t.tasks[i + 1].end); // the all-gather belongs to both
    }
    CHECK(groups == 2);
    // The head's first gradient finds the link idle.
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        if (p.tasks[i].kind() == ts::task_kind::update) {
            const index_t bytes = p.tiles[ts::to_size(p.tasks[i].writes[0])].elements * 4;
            const index_t half = 30 + bytes * 1000 / (2 * 500);
            const index_t own = 50 + 3 * (bytes / 2) * 1000 * 100 / (1000 * 75) + 1;
            index_t longest = 0; // of the engine's tasks: the update may wait for one
            for (const ts::task& x : p.tasks) {
                longest =
                    x.kind() == ts::task_kind::compute ? std::max(longest, own_time(g.view(), p, x, on)) : longest;
            }
            CHECK(t.tasks[i].end - t.tasks[i].start <=
                  2 * half + own + half + longest); // half: for the weight's readers
            break;
        }
    }
}

TEST_CASE("simulate: random strategies keep the order of the plan") {
    const ts::graph g = ts::describe<convnet>(6);
    test_support::coverage seen;
    int beside = 0;
    for (int trial = 0; trial < 120; ++trial) {
        const bool host = trial % 3 == 0;
        const int devices = trial % 5 == 4 ? 6 : 4; // more than four sum statistics in slices
        const ts::cluster on(host ? ts::machines::this_host(devices) : ts::machines::p100_nodes(2, devices / 2));
        ts::strategy s = test_support::random_strategy(g.view(), devices, static_cast<std::uint64_t>(trial), seen);
        s.overlap = trial % 2 == 1;
        const ts::plan p = planned(g.view(), s, devices);
        const sim::timeline t = sim::simulate(g.view(), p, on);
        index_t last = 0;
        for (const std::vector<int>& list : p.order) { // devices and their communication take tasks in the plan's order
            index_t before = 0;
            const ts::task* previous = nullptr;
            for (int i : list) {
                const ts::task& task = p.tasks[ts::to_size(i)];
                const bool in_turn =
                    host || !ts::runs_on_side_stream(p.tiles, task) || task.stream == ts::task_stream::communication;
                const bool one_group =
                    previous != nullptr && task.params().slices > 1 && previous->writes == task.writes;
                const sim::task_span& span = t.tasks[ts::to_size(i)];
                REQUIRE(span.end > span.start);
                REQUIRE((!in_turn || one_group || span.start >= before));
                before = in_turn ? span.end : before;
                last = std::max(last, span.end);
                beside += task.stream == ts::task_stream::communication ? 1 : 0;
                previous = &task;
            }
        }
        REQUIRE(t.makespan == last);
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            std::vector<ts::access> mine;
            std::vector<ts::access> earlier;
            ts::accesses_of(p, p.tasks[i], mine);
            for (const ts::wait_for& w : p.tasks[i].waits) { // threads also wait where memory is used again
                const int other = p.order[ts::to_size(w.list)][ts::to_size(w.count - 1)];
                REQUIRE((!host || t.tasks[ts::to_size(other)].end <= t.tasks[i].start));
            }
            for (std::size_t j = 0; j < i; ++j) {
                ts::accesses_of(p, p.tasks[j], earlier);
                for (const ts::access& a : mine) {
                    for (const ts::access& b : earlier) {
                        if (ts::conflict(a,
                                         b)) { // an update's reduce-scatter may begin while its parameter is still read
                            const bool group =
                                p.tasks[i].kind() == ts::task_kind::update && p.tasks[i].params().slices > 1 && a.write;
                            REQUIRE(t.tasks[j].end <= (group ? t.tasks[i].end : t.tasks[i].start));
                        }
                    }
                }
            }
        }
    }
    CHECK(beside > 500);
}

TEST_CASE("simulate: what a GPU sums, updates and copies beside its computation takes the time of its engine") {
    const ts::graph g = ts::describe<convnet>(6);
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    test_support::coverage seen;
    index_t beside = 0;
    index_t updates = 0;
    const auto hold = [&](const ts::strategy& s) {
        const ts::plan p = planned(g.view(), s, 4);
        sim::task_activities activities(on, g.view(), {});
        const auto [what, when] = sim::run_activities(p, activities);
        const sim::timeline t = sim::simulate(g.view(), p, on);
        for (int d = 0; d < 4; ++d) {
            const int engine = on.lanes() + d;
            const index_t side = t.lane_busy[ts::to_size(engine)];
            CHECK(t.makespan >= t.device_busy[ts::to_size(d)] + side);
            beside += side;
            std::vector<ts::interval> taken; // stretches of the engine, by list and beside: none overlap
            for (std::size_t i = 0; i < what.items.size(); ++i) {
                const sim::activity& a = what.items[i];
                const ts::task& first = p.tasks[ts::to_size(what.tasks[i].first)];
                bool has = false;
                for (const sim::lane_use& u : a.lanes) {
                    has = has || u.lane == engine;
                    if (u.lane == engine) {
                        taken.push_back({when.start[i], when.start[i] + u.busy});
                    }
                    updates += u.lane == engine && first.kind() == ts::task_kind::update ? 1 : 0;
                }
                REQUIRE((has || a.device != d));
                REQUIRE((a.device < 0 || !ts::runs_on_side_stream(p.tiles, first)));
            }
            std::sort(taken.begin(), taken.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
            for (std::size_t i = 1; i < taken.size(); ++i) {
                REQUIRE(taken[i - 1].end <= taken[i].begin);
            }
        }
    };
    hold(ts::search::data_parallel(g.view(), 4));
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        hold(test_support::random_strategy(g.view(), 4, seed, seen));
    }
    CHECK(beside > 0);
    CHECK(updates > 500);
}

TEST_CASE("simulate: what moves beside the computation of a host hides behind it") {
    const ts::cluster on(ts::machines::this_host(2));
    const ts::graph g = ts::describe<convnet>(64);
    ts::strategy s = ts::search::data_parallel(g.view(), 2);
    const sim::timeline among = sim::simulate(g.view(), planned(g.view(), s, 2), on);
    s.overlap = true;
    const ts::plan p = planned(g.view(), s, 2);
    const sim::timeline beside = sim::simulate(g.view(), p, on);
    index_t moved = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        CHECK((p.tasks[i].stream == ts::task_stream::communication) == ts::is_communication(p, p.tasks[i]));
        moved += p.tasks[i].stream == ts::task_stream::communication && p.tasks[i].device == 0
                     ? beside.tasks[i].end - beside.tasks[i].start
                     : 0;
    }
    CHECK(moved > 0);
    CHECK(beside.makespan < among.makespan);
    CHECK(beside.makespan >= among.makespan - moved); // no more than all of it can hide
    CHECK(beside.device_busy[0] + moved == among.device_busy[0]);
    const ts::strategy alone(g.view()); // nothing moves: the stream stays empty, tasks and tiles are the same
    ts::strategy empty = alone;
    empty.overlap = true;
    CHECK(planned(g.view(), empty, 1).order[1].empty());
    CHECK(planned(g.view(), empty, 1).tasks == planned(g.view(), alone, 1).tasks);
    CHECK(planned(g.view(), empty, 1).tiles == planned(g.view(), alone, 1).tiles);
}

TEST_CASE("simulate: what a profile has measured counts instead of the roofline") {
    const ts::cluster on = pair_of(true);
    const ts::graph g = ts::describe<two_layers>(4);
    const ts::plan p = planned(g.view(), ts::search::single_device(g.view()), 2);
    ts::cost::profile measured;
    index_t more = 0;
    for (const ts::task& t : p.tasks) {
        if (t.kind() == ts::task_kind::compute && t.what == ts::pass::forward && t.op == 0) {
            measured.set(sim::signature_of(g.view(), p.tiles, t), 1'000'000);
            more += 1'000'000 - own_time(g.view(), p, t, on);
        }
    }
    sim::task_times times;
    times.measured = &measured;
    CHECK(sim::simulate(g.view(), p, on, times).makespan == sim::simulate(g.view(), p, on).makespan + more);
}

TEST_CASE("simulate: one part of a machine stands for all: as long by collectives, and the same bytes on its lanes") {
    const ts::graph g = ts::describe<networks::lenet5>(48);
    for (const bool collectives : {true, false}) {
        for (const auto& one : {std::pair{ts::machines::p100_nodes(2), 4},
                                {ts::machines::p100_nodes(4), 4},
                                {ts::machines::p100_nodes(3), 2},
                                {ts::machines::k80_nodes(2), 4},
                                {ts::machines::p100_nodes(2), 1}}) {
            const int devices = one.second;
            const ts::cluster on(one.first);
            const int parts = on.devices() / devices;
            const ts::graph small = ts::with_batch(g.view(), 48 / parts);
            sim::task_times times;
            times.collectives = collectives;
            const auto simulated = [&](const ts::graph_view& network, int n) {
                const ts::strategy s = test_support::data_parallel(network, n);
                return sim::simulate(network, ts::lower(network, s.view(), on.devices()), on, times);
            };
            const sim::timeline whole = simulated(g.view(), on.devices());
            times.parts = parts;
            const sim::timeline part = simulated(small.view(), devices);
            CAPTURE(one.first.name);
            CAPTURE(parts);
            if (collectives) {
                CHECK(part.makespan == whole.makespan);
            }
            for (int d = 1; d < on.devices() && devices == 4;
                 ++d) { // parts that share no lanes: the ways out of device 0 and in
                const ts::route out = on.between(0, d);
                const ts::route in = on.between(d, 0);
                const int near = d < devices ? out.lanes.size() : out.lanes.size() / 2; // this side of the switch
                for (int k = 0; k < near; ++k) {
                    for (const int lane : {out.lanes[k], in.lanes[in.lanes.size() - 1 - k]}) {
                        const index_t all = whole.lane_busy[ts::to_size(lane)];
                        const index_t mine = part.lane_busy[ts::to_size(lane)];
                        CAPTURE(d);
                        CAPTURE(lane);
                        CAPTURE(all);
                        CAPTURE(mine);
                        CHECK(std::abs(mine - all) <= all / 500);
                    }
                }
            }
        }
    }
}

TEST_CASE("simulate: a profile looks a task up by the elements that it works on") {
    const ts::graph g = ts::describe<two_layers>(6);
    const ts::plan p = planned(g.view(), test_support::data_parallel(g.view(), 3), 3);
    int updates = 0;
    for (const ts::task& t : p.tasks) {
        const ts::cost::task_signature s = sim::signature_of(g.view(), p.tiles, t);
        CHECK(s.what == t.what);
        if (t.kind() == ts::task_kind::compute) {
            for (int l = 0; l < ts::max_loops; ++l) {
                CHECK(s.extent[l] == t.compute().ranges[l].size());
            }
        } else if (t.kind() == ts::task_kind::update) {
            const index_t all = g.parameters[ts::to_size(t.params().parameter)].extents.volume();
            const index_t mine = (t.params().slice + 1) * all / 3 - t.params().slice * all / 3; // its slice of three
            CHECK(s.extent[0] == mine);
            CHECK(s.extent[1] == 0);
            CHECK(s.sources == 3);
            ++updates;
        }
    }
    CHECK(updates == 3 * 4);
}

TEST_CASE("simulate: a plan for more devices than there are is refused") {
    const ts::graph g = ts::describe<two_layers>(8);
    const ts::plan p = planned(g.view(), ts::search::data_parallel(g.view(), 4), 4);
    CHECK_THROWS_AS(sim::simulate(g.view(), p, pair_of(false)), ts::error);
    sim::task_times times;
    times.parts = 0;
    CHECK_THROWS_AS(sim::simulate(g.view(), p, ts::cluster(ts::machines::p100_nodes()), times), ts::error);
}
