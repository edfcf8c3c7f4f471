// SPDX-License-Identifier: Apache-2.0
// The machines that the planner knows by name, and the usual batch of a network.
#include "examples/plan/plan.hpp"

#include <tessera/base/nearest.hpp>
#include <tessera/machine/presets.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

namespace planner {

ts::optimizer optimizer_of(const request& r) {
    ts::optimizer made = ts::sgd{};
    if (r.optimizer == "adam") {
        made = ts::adam{};
    } else if (r.optimizer == "momentum") {
        made = ts::sgd{.momentum = 0.9F};
    } else if (r.optimizer != "sgd") {
        throw ts::error("there is no optimizer '" + r.optimizer + "'; there are sgd, momentum and adam");
    }
    if (r.learning_rate != 0) {
        made.learning_rate = static_cast<float>(r.learning_rate);
    }
    return made;
}

ts::index_t usual_batch(const ts::graph_view& one_sample) {
    ts::index_t parameters = 0;
    for (int p = 0; p < one_sample.parameter_count; ++p) {
        parameters += one_sample.parameters[p].extents.volume();
    }
    const bool images = one_sample.tensors[0].extents.rank == 4;
    return parameters > 1'000'000'000 ? 1 : images ? 32 : 8;
}

const std::vector<machine_kind>& machine_kinds() {
    namespace m = ts::machines;
    static const std::vector<machine_kind> all = {
        {"p100", "nodes of 4 P100 with NVLink, 100 Gb/s InfiniBand", [](int n) { return m::p100_nodes(n); }},
        {"k80", "nodes of 4 K80 behind shared PCIe switches, 56 Gb/s InfiniBand",
         [](int n) { return m::k80_nodes(n); }},
        {"v100", "nodes of 8 V100 in a hybrid cube mesh, 100 Gb/s InfiniBand", [](int n) { return m::v100_nodes(n); }},
        {"a100", "nodes of 8 A100 with NVSwitch, 200 Gb/s for each", [](int n) { return m::a100_nodes(n); }},
        {"h100", "nodes of 8 H100 with NVSwitch, 400 Gb/s for each", [](int n) { return m::h100_nodes(n); }},
        {"h200", "nodes of 8 H200 with NVSwitch, 400 Gb/s for each", [](int n) { return m::h200_nodes(n); }},
        {"heterogeneous", "one node of 4 P100 and one of 2 A100, whatever the number of nodes",
         [](int) { return m::heterogeneous(); }},
        {"host", "threads of one host, as many as nodes", [](int n) { return m::this_host(n); }},
    };
    return all;
}

ts::device_graph make_machine(const std::string& name_or_file, int nodes, int devices, ts::index_t memory) {
    ts::device_graph g;
    const machine_kind* known = nullptr;
    for (const machine_kind& k : machine_kinds()) {
        known = k.name == name_or_file ? &k : known;
    }
    if (known != nullptr) {
        g = known->make(nodes);
    } else if (is_file_name(name_or_file)) {
        g = machine_in(name_or_file);
    } else {
        const auto names = machine_kinds() | ranges::views::transform(&machine_kind::name) | ranges::to<std::vector>();
        throw ts::error("there is no machine '" + name_or_file + "'" + ts::did_you_mean(name_or_file, names) +
                        "; --list names them, and a machine file's name has a point or a slash");
    }
    const int there = g.device_count();
    if (devices > there) {
        throw ts::error("the machine '" + g.name + "' has " + std::to_string(there) + " devices, not " +
                        std::to_string(devices) + "; ask for fewer devices or more nodes");
    }
    if (devices > 0 && devices < there) {
        g = ts::first_devices(g, devices);
    }
    for (ts::device_class& c : g.classes) {
        c.memory_bytes = memory < 0 ? c.memory_bytes : memory;
    }
    ts::require(g);
    return g;
}

} // namespace planner
