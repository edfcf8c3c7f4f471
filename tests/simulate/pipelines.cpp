// SPDX-License-Identifier: Apache-2.0
// The schedules' closed forms in the simulation of whole plans, with stages that take equally long and communication that is free.
#include "tessera/simulate/simulate.hpp"

#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower.hpp"
#include "tessera/schedule/chimera.hpp"
#include "tessera/schedule/gems.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/schedule/interleaved.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/schedule/zero_bubble.hpp"
#include "tessera/search/pipeline.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
namespace sim = tessera::simulation;
using ts::index_t;

/// Eight equal layers, between one and a loss that take no time: the first of the eight, too, hands a gradient on.
constexpr int layers = 8;
struct entry : ts::linear<8> {};
struct layer : ts::linear<8> {};
struct tower : ts::sequential<ts::features<6>, entry, ts::repeat<layers, layer>, ts::cross_entropy> {};

constexpr index_t unit = 1000000; ///< ns

ts::cluster free_communication(int devices) {
    ts::device_graph g;
    constexpr index_t plenty = 1000000000;
    g.add_class({"d", {plenty, plenty, plenty}, plenty, 0, 0, false});
    for (int d = 0; d < devices; ++d) {
        g.add_device(0, "d" + std::to_string(d));
    }
    const int middle = g.add_switch("s");
    for (int d = 0; d < devices; ++d) {
        g.add_link(d, middle, plenty, 0);
    }
    return ts::cluster(g);
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
        const bool works = t.kind == ts::task_kind::compute && t.op > 0 && t.op <= layers;
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

} // namespace

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
    }
}
