// SPDX-License-Identifier: Apache-2.0
// The machines that the planner knows by name, and the usual batch of a network.
#include "examples/plan/plan.hpp"

#include <tessera/base/nearest.hpp>
#include <tessera/machine/presets.hpp>
#include <tessera/net/precision.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <iterator>

namespace planner {

ts::optimizer optimizer_of(const request& r) {
    ts::optimizer made = ts::sgd{};
    if (r.optimizer == "adam") {
        made = ts::adam{};
    } else if (r.optimizer == "adamw") {
        made = ts::adamw{};
    } else if (r.optimizer == "momentum") {
        made = ts::sgd{.momentum = 0.9F};
    } else if (r.optimizer != "sgd") {
        throw ts::error("there is no optimizer '" + r.optimizer + "'; there are sgd, momentum, adam and adamw");
    }
    if (r.learning_rate != 0) {
        made.learning_rate = static_cast<float>(r.learning_rate);
    }
    return made;
}

void set_precision(ts::graph& g, const request& r, const ts::device_graph& on) {
    constexpr ts::precision all[] = {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16, ts::precision::fp16,
                                     ts::precision::fp8};
    static_assert(std::size(all) == ts::precisions);
    const auto everywhere = [&](ts::precision p) {
        return std::all_of(on.classes.begin(), on.classes.end(), [&](const ts::device_class& c) { return c.has(p); });
    };
    if (r.precision.empty()) {
        const bool said = !g.ops.empty() && g.ops[0].attributes.math != ts::precision::fp32;
        if (!said && everywhere(ts::precision::bf16)) {
            ts::set_precision(g, ts::precision::bf16);
        }
        return;
    }
    std::vector<std::string> names;
    std::string has;
    for (const ts::precision p : all) {
        names.emplace_back(ts::to_text(p));
        if (r.precision == names.back()) {
            if (!everywhere(p)) {
                for (const ts::precision other : all) {
                    has += everywhere(other) ? (has.empty() ? "" : ", ") + std::string(ts::to_text(other)) : "";
                }
                throw ts::error("the machine '" + on.name + "' has no rate for products in " + r.precision +
                                "; it has one in " + has);
            }
            ts::set_precision(g, p);
            return;
        }
    }
    throw ts::error("there is no precision '" + r.precision + "'" + ts::did_you_mean(r.precision, names) +
                    "; there are fp32, tf32, bf16, fp16 and fp8");
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
        {"b200", "nodes of 8 B200 with NVSwitch, 400 Gb/s for each", [](int n) { return m::b200_nodes(n); }},
        {"gb200", "GB200 NVL72: racks of 72 with NVSwitch, 400 Gb/s for each", [](int n) { return m::gb200_nvl72(n); }},
        {"mi300x", "nodes of 8 MI300X, fully linked, 400 Gb/s for each", [](int n) { return m::mi300x_nodes(n); }},
        {"tpu_v5p", "TPU v5p: 1, 2 or 4 cubes of 64 chips in a torus", [](int n) { return m::tpu_v5p(n); }},
        {"heterogeneous", "one node of 4 P100 and one of 2 A100, whatever the number of nodes",
         [](int) { return m::heterogeneous(); }},
        {"host", "threads of one host, as many as nodes", [](int n) { return m::this_host(n); }},
    };
    return all;
}

constexpr int most_devices = 16384;

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
    if (there > most_devices && devices == 0) {
        throw ts::error("the machine '" + g.name + "' has " + std::to_string(there) + " devices, and at most " +
                        std::to_string(most_devices) + " are planned for; take the first of them with --devices");
    }
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
