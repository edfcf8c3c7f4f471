// SPDX-License-Identifier: Apache-2.0
// The schedules' closed forms in the simulation of whole plans, with stages that take equally long and communication
// that is free.
#include "support/equal_layers.hpp"
#include "support/star.hpp"
#include "tessera/simulate/simulate.hpp"

#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
namespace sim = tessera::simulation;
using ts::index_t;
using namespace test_support::equal_layers;

ts::cluster free_communication(int devices) {
    constexpr index_t plenty = 1000000000;
    return test_support::star(devices, plenty, plenty, plenty);
}

/// Makespan of the tower under a schedule in units of one layer's forward; a layer takes these units.
double simulated(const ts::pipeline_schedule& order, double forward, double input, double weight) {
    const ts::graph network = ts::describe<tower>(order.micro_batches);
    const ts::graph_view g = network.view();
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        const int place = op == 0 ? 0 : op > layers ? layers - 1 : op - 1;
        stage.push_back(place * order.stages / layers);
    }
    const ts::strategy s = ts::search::pipeline(g, stage, order);
    const int devices = static_cast<int>(order.workers.size());
    ts::plan p = ts::lower(g, s.view(), devices);
    ts::finish(g, p);
    ts::cost::profile times;
    for (const ts::task& t : p.tasks) {
        const bool works = t.kind() == ts::task_kind::compute && t.op > 0 && t.op <= layers;
        const double units = t.what == ts::pass::forward          ? forward
                             : t.what == ts::pass::backward_input ? input
                                                                  : weight;
        times.set(sim::signature_of(g, p.tiles, t), works ? static_cast<index_t>(units * unit) : 1);
    }
    sim::task_times how;
    how.measured = &times;
    const sim::timeline t = sim::simulate(g, p, free_communication(devices), how);
    // What should take no time takes 1 ns a task.
    CHECK(std::abs(static_cast<double>(t.makespan) / unit - std::round(static_cast<double>(t.makespan) / unit)) < 0.01);
    return std::round(static_cast<double>(t.makespan) / unit);
}

/// Devices that sum a parameter's gradients, in order.
std::vector<int> members_of(const ts::plan& p, const ts::task& update) {
    std::vector<int> devices;
    for (const int w : update.writes) {
        devices.push_back(p.tiles[ts::to_size(w)].device);
    }
    std::sort(devices.begin(), devices.end());
    return devices;
}

} // namespace

TEST_CASE("GEMS sums the gradients of a stage on the two devices that have it, and on no others") {
    for (const int k : {2, 4}) {
        for (const int parts : {1, 2}) {
            const ts::graph network = ts::describe<tower>(8);
            const ts::graph_view g = network.view();
            std::vector<int> stage;
            for (int op = 0; op < g.op_count; ++op) {
                stage.push_back(op * k / g.op_count);
            }
            const ts::strategy s = ts::search::pipeline(g, stage, schedule::gems(k, 2, parts));
            ts::plan p = ts::lower(g, s.view(), k);
            ts::finish(g, p);
            int updates = 0;
            for (const ts::task& t : p.tasks) {
                if (t.kind() == ts::task_kind::update) {
                    const int own = stage[ts::to_size(t.op)];
                    CHECK(members_of(p, t) == std::vector<int>{std::min(own, k - 1 - own), std::max(own, k - 1 - own)});
                    CHECK(t.reads.size() == 2);
                    ++updates;
                }
            }
            CHECK(updates == 2 * g.parameter_count);
        }
    }
}

TEST_CASE("HyPar-Flow: gradients of a stage are summed by its replicas alone, from the moment it has gone backward") {
    constexpr int stages = 4;
    constexpr int replicas = 2;
    const ts::graph network = ts::describe<tower>(64);
    const ts::graph_view g = network.view();
    ts::device_graph machine;
    machine.add_class({"d", {100, 100, 100}, 1000, 0, 100, false});
    for (int d = 0; d < stages * replicas; ++d) {
        machine.add_device(0, "d" + std::to_string(d));
        for (int e = 0; e < d; ++e) {
            machine.add_link(e, d, 1000, 1000);
        }
    }
    const ts::cluster on(machine);
    const ts::strategy s = ts::search::hypar_flow(g, on.class_of(0), stages, replicas, 4);
    ts::plan p = ts::lower(g, s.view(), stages * replicas);
    ts::finish(g, p);
    const sim::timeline t = sim::simulate(g, p, on);
    // When each device has gone backward for the last time, and when sums of its stage begin and end.
    std::vector<index_t> backward(ts::to_size(stages), 0);
    std::vector<index_t> first(ts::to_size(stages), INT64_MAX);
    std::vector<index_t> last(ts::to_size(stages), 0);
    std::vector<int> groups(ts::to_size(stages), 0);
    std::vector<index_t> soonest(ts::to_size(stages), INT64_MAX);
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& x = p.tasks[i];
        const int own = s.ops[ts::to_size(x.op)].stage;
        if (x.kind() == ts::task_kind::compute && x.what != ts::pass::forward) {
            backward[ts::to_size(own)] = std::max(backward[ts::to_size(own)], t.tasks[i].end);
        }
        if (x.kind() != ts::task_kind::update) {
            continue;
        }
        CHECK(members_of(p, x) == std::vector<int>{own * replicas, own * replicas + 1});
        groups[ts::to_size(own)] += x.params().slice == 0 ? 1 : 0;
        last[ts::to_size(own)] = std::max(last[ts::to_size(own)], t.tasks[i].end);
        first[ts::to_size(own)] = std::min(first[ts::to_size(own)], t.tasks[i].start);
        // The first sum of a stage begins when its gradients are there.
        index_t ready = 0;
        for (std::size_t k = 0; k < i; ++k) {
            for (const int w : p.tasks[k].writes) {
                const bool adds = std::find(x.reads.begin(), x.reads.end(), w) != x.reads.end();
                ready = adds ? std::max(ready, t.tasks[k].end) : ready;
            }
        }
        CHECK(t.tasks[i].start >= ready);
        soonest[ts::to_size(own)] = std::min(soonest[ts::to_size(own)], t.tasks[i].start - ready);
    }
    for (int i = 0; i < stages; ++i) {
        CAPTURE(i);
        int parameters = 0;
        for (int op = 0; op < g.op_count; ++op) {
            parameters += s.ops[ts::to_size(op)].stage == i ? g.ops[op].parameters.size() : 0;
        }
        CHECK(groups[ts::to_size(i)] == parameters); // of each parameter one
        CHECK(first[ts::to_size(i)] <=
              backward[ts::to_size(i)]); // of the last operator's, before the first ones have gone backward
        CHECK(last[ts::to_size(i)] >= backward[ts::to_size(i)]);
        CHECK(soonest[ts::to_size(i)] == 0);
        if (i > 0) { // done while the stage before still computes
            CHECK(last[ts::to_size(i)] < backward[0]);
            CHECK(last[ts::to_size(i)] < t.makespan);
        }
    }
    CHECK_THROWS_AS((void)ts::search::hypar_flow(g, on.class_of(0), 11, 1, 4), ts::error);
    CHECK_THROWS_AS((void)ts::search::hypar_flow(g, on.class_of(0), stages, 0, 4), ts::error);
}

TEST_CASE("plans of GPipe, 1F1B, interleaved 1F1B and ZB-H1 take what their closed forms say") {
    for (const int k : {1, 2, 4, 8}) {
        const int each = layers / k; // layers of a stage
        for (const int m : {1, 2, 3, 4, 8, 16}) {
            CAPTURE(k);
            CAPTURE(m);
            for (const double weight : {1.0, 2.0}) {
                const double both = 1 + 1 + weight;
                CHECK(simulated(schedule::gpipe(k, m), 1, 1, weight) == (m + k - 1) * both * each);
                CHECK(simulated(schedule::one_forward_one_backward(k, m), 1, 1, weight) == (m + k - 1) * both * each);
            }
            if (m >= k) {
                CHECK(simulated(schedule::zero_bubble_h1(k, m), 1, 1, 1) == (3 * m + k - 1) * each);
                CHECK(simulated(schedule::zero_bubble_h1(k, m), 3, 2, 1) == (6 * m + (k - 1) * 4) * each);
            }
            for (int v = 2; v * k <= layers && m % k == 0; v *= 2) {
                CHECK(simulated(schedule::interleaved(k, v, m), 1, 1, 1) == (v * m + k - 1) * 3 * each / v);
            }
        }
    }
}

TEST_CASE("plans of Chimera and GEMS, whose parameters lie on two devices, take what their closed forms say") {
    for (const int k : {2, 4, 8}) {
        const int each = layers / k;
        CAPTURE(k);
        CHECK(simulated(schedule::chimera(k, k), 1, 1, 1) == (5 * k - 4) * each);
        CHECK(simulated(schedule::chimera(k, 2 * k, {2, 2}), 2, 1, 1) == (2 * (2 * 2 * k + k - 2)) * each);
        for (const int m : {1, 2, 3, 8}) {
            CHECK(simulated(schedule::gems(k, m), 1, 1, 1) == (k + m * k * 2 + m - 1) * each);
        }
        for (const int parts : {2, 3}) {
            CHECK(simulated(schedule::gems(k, 4, parts), 1, 1, 1) ==
                  ((k + parts - 1) * (1 + 4 * 2) + 3 * parts) * each);
        }
    }
}

TEST_CASE("plans of ZB-V and of plain model parallelism take what their closed forms say") {
    for (const int k : {1, 2, 4}) {
        CAPTURE(k);
        for (const int m : {2 * k - 1, 2 * k, 3 * k}) {
            CAPTURE(m);
            // Six units of half a stage for every micro-batch, after as many as the worker is behind the first; nobody
            // idles then.
            CHECK(2 * simulated(schedule::zero_bubble_v(k, m), 1, 1, 1) == (6 * m + k - 1) * layers / k);
        }
        CHECK(simulated(schedule::fill_drain(k, 3), 1, 1, 2) == 3 * layers * 4);
    }
}
