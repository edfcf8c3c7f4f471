// SPDX-License-Identifier: Apache-2.0
// Summaries of trainers: LeNet-5 against closed formulas, parameters against what the trainer holds, bytes of devices
// against the plan's memory, times against the roofline.
#include "tessera/execute/measure/summary.hpp"
#include "support/networks.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/schedule/gradients.hpp"
#include "tessera/schedule/zero.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using ts::index_t;
using ts::layer_summary;
using lenet = test_networks::lenet5::network;

template <class Net>
using trainer_of = ts::trainer<Net, ts::reference::backend>;

const layer_summary& layer(const ts::network_summary& s, const std::string& name) {
    for (const layer_summary& x : s.layers) {
        if (x.name == name) {
            return x;
        }
    }
    throw ts::error("there is no layer " + name);
}

/// What every summary of a trainer keeps.
template <class Net>
ts::network_summary checked(trainer_of<Net>& trainer, int states) {
    ts::network_summary s = trainer.summary();
    const ts::plan& p = trainer.training_plan();
    index_t numbers = 0;
    for (int i = 0; i < trainer.graph().parameter_count; ++i) {
        numbers += static_cast<index_t>(trainer.values().parameter(i).size());
    }
    CHECK(s.total(&layer_summary::parameters) == numbers);
    CHECK(s.total(&layer_summary::parameter_bytes) == 4 * numbers);
    CHECK(s.layers.size() == ts::to_size(trainer.planned_graph().op_count));
    index_t on_all = 0;
    index_t state = 0;
    for (int d = 0; d < p.devices; ++d) {
        const auto at = ts::to_size(d);
        const index_t held = s.total(&layer_summary::device_parameter_bytes, d) + s.state_bytes[at];
        CHECK(held <= p.persistent_bytes[at]); // between which are gaps alone
        CHECK(p.persistent_bytes[at] < held + ts::arena_alignment * static_cast<index_t>(p.tiles.size()));
        CHECK(s.arena_bytes[at] == p.arena_bytes[at]);
        on_all += s.total(&layer_summary::device_parameter_bytes, d);
        state += s.state_bytes[at];
    }
    CHECK(on_all >= s.total(&layer_summary::parameter_bytes));
    CHECK(state == 4 * states * s.total(&layer_summary::trained));
    return s;
}

TEST_CASE("the layers of LeNet-5 are those of its formulas") {
    constexpr index_t n = 6;
    trainer_of<lenet> trainer(ts::local_devices(1), ts::strategy(ts::describe<lenet>(n).view()), n,
                              ts::sgd{.momentum = 0.9F});
    const ts::network_summary s = checked<lenet>(trainer, 1);
    struct formula {
        const char* name;
        index_t parameters;
        index_t multiply_adds; // of one sample
        index_t outputs;
        int passes; // gradients of weights, and of inputs but for the first layer's
    };
    const formula all[] = {
        {"conv1", 6 * 25 + 6, index_t{6} * 28 * 28 * 25, 6 * 28 * 28, 2},
        {"conv2", 16 * 6 * 25 + 16, index_t{16} * 10 * 10 * 6 * 25, 16 * 10 * 10, 3},
        {"fc1", 400 * 120 + 120, 400 * 120, 120, 3},
        {"fc2", 120 * 84 + 84, 120 * 84, 84, 3},
        {"fc3", 84 * 10 + 10, 84 * 10, 10, 3},
    };
    index_t parameters = 0;
    for (const formula& f : all) {
        const layer_summary& x = layer(s, f.name);
        CHECK(x.parameters == f.parameters);
        CHECK(x.trained == f.parameters);
        CHECK(x.forward_flops == 2 * n * f.multiply_adds);
        CHECK(x.step_flops == 2 * n * f.multiply_adds * f.passes);
        CHECK(x.output_bytes == 4 * n * f.outputs);
        CHECK(x.output.volume() == n * f.outputs);
        CHECK(x.device_parameter_bytes == std::vector<index_t>{4 * f.parameters});
        CHECK(x.device_activation_bytes[0] >= x.output_bytes);
        parameters += f.parameters;
    }
    CHECK(parameters == 61706);
    CHECK(s.total(&layer_summary::parameters) == parameters);
    CHECK(layer(s, "flatten").output_bytes == 4 * n * 400);
    CHECK(layer(s, "flatten").device_activation_bytes == std::vector<index_t>{0}); // the memory of what it reads
    CHECK(s.step == 0);
    CHECK(layer(s, "fc1").device_compute.empty());
    const std::string text = to_text(s);
    for (const char* words : {"conv1", "6x6x28x28", "61706 parameters, 61706 of them trained", "on 1 device\n"}) {
        CHECK(test_support::contains(text, words));
    }
    CHECK(!test_support::contains(text, "compute ms"));
}

TEST_CASE("what each device holds is what the strategy gives it") {
    constexpr index_t n = 8;
    const ts::graph g = ts::describe<lenet>(n);
    trainer_of<lenet> whole(ts::local_devices(1), ts::strategy(g.view()), n, ts::sgd{.momentum = 0.9F});
    trainer_of<lenet> samples(ts::local_devices(2), ts::search::data_parallel(g.view(), 2), n, ts::sgd{});
    trainer_of<lenet> channels(ts::local_devices(2), ts::search::model_parallel(g.view(), 2), n, ts::adam{});
    ts::strategy sliced = ts::search::data_parallel(g.view(), 2);
    sliced.sync = ts::schedule::zero(ts::schedule::gradients_of(g.view()), 3);
    trainer_of<lenet> slices(ts::local_devices(2), sliced, n, ts::adam{});
    const ts::network_summary one = checked<lenet>(whole, 1);
    const ts::network_summary by_sample = checked<lenet>(samples, 0);
    const ts::network_summary by_channel = checked<lenet>(channels, 2);
    const ts::network_summary by_slice = checked<lenet>(slices, 2);
    for (const char* name : {"conv1", "conv2", "fc1", "fc2", "fc3"}) {
        const layer_summary& x = layer(one, name);
        const index_t bytes = x.parameter_bytes;
        CHECK(layer(by_sample, name).device_parameter_bytes == std::vector<index_t>{bytes, bytes});
        CHECK(layer(by_channel, name).device_parameter_bytes == std::vector<index_t>{bytes / 2, bytes / 2});
        CHECK(layer(by_slice, name).device_parameter_bytes == std::vector<index_t>{bytes / 2, bytes / 2});
        const index_t half = x.device_activation_bytes[0] / 2;
        CHECK(layer(by_sample, name).device_activation_bytes == std::vector<index_t>{half, half});
        CHECK(layer(by_sample, name).step_flops == x.step_flops);
        CHECK(layer(by_channel, name).forward_flops == x.forward_flops);
    }
    // Layers split by their outputs hand them on: each device has its own half of all, and what it reads of the
    // other's.
    const auto held = [](const ts::network_summary& s, int d) {
        return s.total(&layer_summary::device_activation_bytes, d);
    };
    CHECK(held(by_channel, 1) > held(one, 0) / 2);
    CHECK(held(by_channel, 1) < held(one, 0));
    CHECK(test_support::contains(to_text(by_slice), "on 2 devices\n"));
}

TEST_CASE("running statistics are parameters that are not trained, and recomputation counts") {
    using net = test_networks::residual_net::network;
    constexpr index_t n = 4;
    const ts::graph g = ts::describe<net>(n);
    trainer_of<net> trainer(ts::local_devices(1), ts::strategy(g.view()), n, ts::sgd{.momentum = 0.9F});
    const ts::network_summary s = checked<net>(trainer, 1);
    index_t statistics = 0;
    for (const ts::parameter_node& p : g.parameters) {
        statistics += p.state ? p.extents.volume() : 0;
    }
    CHECK(statistics > 0);
    CHECK(s.total(&layer_summary::parameters) - s.total(&layer_summary::trained) == statistics);
    ts::strategy again(g.view());
    int stem = -1;
    for (int op = 0; op < g.view().op_count; ++op) {
        stem = ts::path_of(g.view(), op) == "stem" ? op : stem;
    }
    again.ops[ts::to_size(stem)].recompute = true;
    trainer_of<net> twice(ts::local_devices(1), again, n, ts::sgd{.momentum = 0.9F});
    const ts::network_summary r = checked<net>(twice, 1);
    CHECK(layer(r, "stem").forward_flops == layer(s, "stem").forward_flops);
    CHECK(layer(r, "stem").step_flops == layer(s, "stem").step_flops + layer(s, "stem").forward_flops);
}

TEST_CASE("what several operators share counts once, what is not trained has no state") {
    using cells = test_networks::recurrent::network;
    trainer_of<cells> repeated(ts::local_devices(1), ts::strategy(ts::describe<cells>(4).view()), 4, ts::adam{});
    const ts::network_summary s = checked<cells>(repeated, 2);
    CHECK(s.total(&layer_summary::trained) == s.total(&layer_summary::parameters));
    int users = 0;
    int owners = 0;
    for (int op = 0; op < repeated.planned_graph().op_count; ++op) {
        users += repeated.planned_graph().ops[op].parameters.size() > 0 ? 1 : 0;
        owners += s.layers[ts::to_size(op)].parameters > 0 ? 1 : 0;
    }
    CHECK(owners > 0);
    CHECK(owners < users);

    using frozen = test_networks::frozen_net::network;
    trainer_of<frozen> part(ts::local_devices(1), ts::strategy(ts::describe<frozen>(4).view()), 4, ts::adam{});
    const ts::network_summary f = checked<frozen>(part, 2);
    CHECK(f.total(&layer_summary::trained) < f.total(&layer_summary::parameters));
}

TEST_CASE("times are those of the tasks: by the roofline or as they were measured") {
    constexpr index_t n = 8;
    const ts::graph g = ts::describe<lenet>(n);
    trainer_of<lenet> trainer(ts::local_devices(1), ts::strategy(g.view()), n, ts::sgd{});
    const ts::cluster machine(ts::machines::p100_nodes(1, 2));
    const ts::network_summary s = trainer.summary(machine);
    CHECK(s.step > 0);
    index_t roofline = 0;
    for (const ts::task& t : trainer.training_plan().tasks) {
        const ts::graph_view v = trainer.planned_graph();
        roofline += t.kind() == ts::task_kind::compute
                        ? ts::cost::roofline_time(
                              ts::simulation::work_of(v, v.describe(t.op), trainer.training_plan().tiles, t),
                              machine.class_of(0))
                        : 0;
    }
    CHECK(roofline > 0);
    CHECK(s.total(&layer_summary::device_compute, 0) == roofline);
    CHECK(s.step >= roofline);
    CHECK(s.step <= roofline + s.total(&layer_summary::device_other, 0)); // updates run beside the computation
    CHECK(layer(s, "fc1").device_other[0] > 0);                           // the update of its parameters
    CHECK(test_support::contains(to_text(s), "compute ms"));

    // A run in which only one layer's tasks take time: 5 ns each.
    const ts::plan& p = trainer.training_plan();
    ts::simulation::timeline seen;
    index_t computing = 0;
    for (const ts::task& t : p.tasks) {
        const bool mine = t.kind() == ts::task_kind::compute && ts::path_of(trainer.planned_graph(), t.op) == "conv2";
        seen.tasks.push_back({seen.makespan, seen.makespan + (mine ? 5 : 0)});
        seen.makespan = seen.tasks.back().end;
        computing += mine ? 5 : 0;
    }
    const ts::network_summary m = trainer.summary(seen);
    CHECK(computing >= 10);
    CHECK(layer(m, "conv2").device_compute[0] == computing);
    CHECK(m.total(&layer_summary::device_compute, 0) == computing);
    CHECK(m.total(&layer_summary::device_other, 0) == 0);
    CHECK(m.step == computing);

    trainer_of<lenet> two(ts::local_devices(2), ts::search::data_parallel(g.view(), 2), n, ts::sgd{});
    const ts::network_summary both = two.summary(machine);
    CHECK(both.step > 0);
    CHECK(layer(both, "conv2").device_compute[1] > 0);
    CHECK_THROWS_AS(static_cast<void>(two.summary(ts::cluster(ts::machines::p100_nodes(1, 1)))), ts::error);
}

} // namespace
