// SPDX-License-Identifier: Apache-2.0
// Bodies of summary.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/measure/summary.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE index_t network_summary::total(index_t layer_summary::*what) const {
    index_t sum = 0;
    for (const layer_summary& x : layers) {
        sum += x.*what;
    }
    return sum;
}

TESSERA_INLINE index_t network_summary::total(std::vector<index_t> layer_summary::*what, int device) const {
    index_t sum = 0;
    for (const layer_summary& x : layers) {
        const auto d = to_size(device);
        sum += d < (x.*what).size() ? (x.*what)[d] : 0;
    }
    return sum;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE int owner_of(const graph_view& g, const plan& p, const tile& t, const std::vector<int>& first_user) {
    if (t.kind == tile_kind::parameter) {
        return first_user[to_size(t.tensor)];
    }
    if (t.kind == tile_kind::intermediate) {
        return t.tensor / max_operands;
    }
    // A parameter's elements on their way to another device lie in tiles of other kinds, which are of no tensor.
    const bool of_parameter = t.origin >= 0 && is_persistent(p.tiles[to_size(t.origin)].kind);
    return t.kind == tile_kind::activation && !of_parameter && t.tensor >= 0 && t.tensor < g.tensor_count
               ? g.tensors[t.tensor].producer
               : -1;
}

TESSERA_INLINE void add_tiles(const graph_view& g, const plan& p, const std::vector<int>& first_user,
                              network_summary& s) {
    std::vector<int> owner(p.tiles.size(), -1);
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        owner[i] = owner_of(g, p, p.tiles[i], first_user);
    }
    for (const task& t : p.tasks) {
        if (t.compute().workspace >= 0) {
            owner[to_size(t.compute().workspace)] = t.op;
        }
    }
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        const tile& t = p.tiles[i];
        if (t.alias >= 0 || t.device < 0 || t.step > 0 || t.on_host) {
            continue;
        }
        const auto d = to_size(t.device);
        if (is_persistent(t.kind) && t.kind != tile_kind::parameter) {
            s.state_bytes[d] += t.bytes;
        } else if (owner[i] >= 0) {
            layer_summary& x = s.layers[to_size(owner[i])];
            (t.kind == tile_kind::parameter ? x.device_parameter_bytes : x.device_activation_bytes)[d] += t.bytes;
        }
    }
}

TESSERA_INLINE void add_times(const plan& p, const simulation::timeline& when, network_summary& s) {
    const std::vector<index_t> none(to_size(p.devices), 0);
    for (layer_summary& x : s.layers) {
        x.device_compute = x.device_other = none;
    }
    for (std::size_t i = 0; i < p.tasks.size() && i < when.tasks.size(); ++i) {
        const task& t = p.tasks[i];
        if (t.op >= 0) {
            layer_summary& x = s.layers[to_size(t.op)];
            (t.kind() == task_kind::compute ? x.device_compute : x.device_other)[to_size(t.device)] +=
                when.tasks[i].end - when.tasks[i].start;
        }
    }
    for (layer_summary& x : s.layers) {
        for (std::size_t d = 0; d < none.size(); ++d) {
            x.device_compute[d] /= p.steps_per_plan;
            x.device_other[d] /= p.steps_per_plan;
        }
    }
    s.step = when.makespan / p.steps_per_plan;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE network_summary summarize(const graph_view& g, const plan& p, const simulation::timeline* when) {
    network_summary s;
    const std::vector<index_t> none(to_size(p.devices), 0);
    const network_paths paths = paths_of(g);
    const std::vector<int> first_user = first_users_of(g);
    s.samples = g.tensors[0].extents[0];
    s.devices = p.devices;
    s.state_bytes = none;
    s.persistent_bytes = p.persistent_bytes;
    s.arena_bytes = p.arena_bytes;
    std::vector<description> described;
    for (int op = 0; op < g.op_count; ++op) {
        described.push_back(g.describe(op));
        const tensor_node& made = g.output_of(op);
        layer_summary x{paths.op(op), to_text(g.ops[op].attributes.kind), made.extents};
        x.output_bytes = made.extents.volume() * bytes_of(made.type);
        x.device_parameter_bytes = x.device_activation_bytes = none;
        for (const int k : g.ops[op].parameters) {
            if (first_user[to_size(k)] == op) {
                const index_t numbers = g.parameters[k].extents.volume();
                x.parameters += numbers;
                x.trained += g.parameters[k].trained && !g.parameters[k].state ? numbers : 0;
                x.parameter_bytes += numbers * bytes_of(element::f32);
            }
        }
        s.layers.push_back(std::move(x));
    }
    for (const task& t : p.tasks) {
        if (t.kind() == task_kind::compute) {
            layer_summary& x = s.layers[to_size(t.op)];
            const index_t flops = simulation::flops_of(described[to_size(t.op)], t);
            x.step_flops += flops;
            x.forward_flops += t.what == pass::forward || t.what == pass::evaluate ? flops : 0;
        }
    }
    for (layer_summary& x : s.layers) {
        x.step_flops /= p.steps_per_plan;
        x.forward_flops /= p.steps_per_plan;
    }
    detail::add_tiles(g, p, first_user, s);
    if (when != nullptr) {
        detail::add_times(p, *when, s);
    }
    return s;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE std::string short_number(index_t x) {
    constexpr const char* units[] = {"", " k", " M", " G", " T", " P"};
    if (x < 10'000) {
        return std::to_string(x);
    }
    auto value = static_cast<double>(x);
    int unit = 0;
    for (; value >= 999.95 && unit < 5; ++unit) {
        value /= 1000;
    }
    char text[32];
    print_to(text, sizeof text, "%.*f%s", value < 9.9995 ? 3 : value < 99.995 ? 2 : 1, value, units[unit]);
    return text;
}

TESSERA_INLINE std::string in_milliseconds(index_t ns) {
    char text[32];
    print_to(text, sizeof text, "%.3f", static_cast<double>(ns) * 1e-6);
    return text;
}

TESSERA_INLINE index_t largest(const std::vector<index_t>& of_devices) {
    return of_devices.empty() ? 0 : *std::max_element(of_devices.begin(), of_devices.end());
}

TESSERA_INLINE std::string text_of_devices(const network_summary& s) {
    std::vector<std::vector<std::string>> rows{{"device", "parameter bytes", "state bytes", "activation bytes",
                                                "memory in all", s.step > 0 ? "compute ms" : ""}};
    for (int d = 0; d < s.devices; ++d) {
        const auto at = to_size(d);
        rows.push_back({std::to_string(d), short_number(s.total(&layer_summary::device_parameter_bytes, d)),
                        short_number(s.state_bytes[at]),
                        short_number(s.total(&layer_summary::device_activation_bytes, d)),
                        at < s.arena_bytes.size() ? short_number(s.persistent_bytes[at] + s.arena_bytes[at]) : "-",
                        s.step > 0 ? in_milliseconds(s.total(&layer_summary::device_compute, d)) : ""});
    }
    return aligned(rows);
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::string to_text(const network_summary& s) {
    using detail::short_number;
    const bool several = s.devices > 1;
    std::vector<std::vector<std::string>> rows{{"layer", "kind", "output", "parameters", "FLOPs forward",
                                                "FLOPs of a step", "parameter bytes", "output bytes"}};
    const auto add = [&](bool wanted, const std::vector<std::string>& words) {
        if (wanted) {
            rows.back().insert(rows.back().end(), words.begin(), words.end());
        }
    };
    add(several, {"parameters on a device", "activations on a device"});
    add(s.step > 0, {"compute ms", "other ms"});
    for (const layer_summary& x : s.layers) {
        rows.push_back({x.name, x.kind, detail::text_of(x.output), short_number(x.parameters),
                        short_number(x.forward_flops), short_number(x.step_flops), short_number(x.parameter_bytes),
                        short_number(x.output_bytes)});
        add(several, {short_number(detail::largest(x.device_parameter_bytes)),
                      short_number(detail::largest(x.device_activation_bytes))});
        add(s.step > 0, {detail::in_milliseconds(detail::largest(x.device_compute)),
                         detail::in_milliseconds(detail::largest(x.device_other))});
    }
    rows.push_back(
        {"all", "", "", short_number(s.total(&layer_summary::parameters)),
         short_number(s.total(&layer_summary::forward_flops)), short_number(s.total(&layer_summary::step_flops)),
         short_number(s.total(&layer_summary::parameter_bytes)), short_number(s.total(&layer_summary::output_bytes))});
    std::string text = detail::aligned(rows);
    const index_t trained = s.total(&layer_summary::trained);
    text += std::to_string(s.total(&layer_summary::parameters)) + " parameters, " + std::to_string(trained) +
            " of them trained; a step of " + std::to_string(s.samples) + " samples on " + std::to_string(s.devices) +
            (several ? " devices" : " device");
    text += s.step > 0 ? " takes " + detail::in_milliseconds(s.step) + " ms" : "";
    return text + "\n" + detail::text_of_devices(s);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
