// SPDX-License-Identifier: Apache-2.0
// Bodies of step_figures.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/model_work.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/simulate/step_figures.hpp"
#include "tessera/simulate/task_time.hpp"

namespace tessera::simulation::detail {

/// Of an operator's parameters the share that a token meets: of experts to which tokens are sent, those it is sent to.
TESSERA_INLINE double share_met(const graph_view& g, int op) {
    const op_node& o = g.ops[op];
    const int slots = o.inputs.size() < 2 ? -1 : g.tensors[o.inputs[1]].producer;
    return slots < 0 || o.parameters.empty()
               ? 1
               : op::share_of_experts(o.attributes, g.ops[slots].attributes, g.parameters[o.parameters[0]].extents[0]);
}

/// Forward and backward FLOPs of a product of activations, of all pairs of positions.
TESSERA_INLINE double flops_of_pairs(const graph_view& g, int op) {
    constexpr int passes = 3; // forward, and backward twice as much
    const op_node& o = g.ops[op];
    if (o.inputs.size() < 2 || g.facts(op).work != work_kind::matrix_product) {
        return 0;
    }
    return passes * op::flops_of_pairs(o.attributes, static_cast<double>(forward_flops(g.describe(op))),
                                       g.tensors[o.inputs[0]].extents, g.tensors[o.inputs[1]].extents,
                                       g.output_of(op).extents);
}

} // namespace tessera::simulation::detail

namespace tessera::simulation::detail {

/// A parameter that was put together of its slices for a pass.
TESSERA_INLINE bool is_gathered_parameter(const graph_view& g, const tile& t) {
    return t.kind == tile_kind::intermediate &&
           g.describe(t.tensor / max_operands).operands[t.tensor % max_operands].kind == operand_kind::parameter;
}

/// What a tile of the working arena counts as.
TESSERA_INLINE index_t memory_split::*part_of(const graph_view& g, const tile& t) {
    switch (t.kind) {
    case tile_kind::parameter_gradient:
        return &memory_split::gradients;
    case tile_kind::activation:
    case tile_kind::gradient:
    case tile_kind::intermediate:
    case tile_kind::intermediate_gradient:
        return is_gathered_parameter(g, t) ? &memory_split::buffers : &memory_split::activations;
    default:
        return &memory_split::buffers;
    }
}

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE model_work work_of_model(const graph_view& g) {
    model_work w;
    if (g.tensor_count == 0 || g.op_count == 0) {
        return w;
    }
    const tensor_node& first = g.tensors[0];
    w.samples = first.extents[0];
    w.tokens = first.type == element::i32 && first.extents.rank == 2 ? first.extents.volume() : 0;
    w.math = g.ops[0].attributes.math;
    std::vector<char> counted(to_size(g.parameter_count), 0);
    double products = 0;
    double of_pairs = 0;
    for (int op = 0; op < g.op_count; ++op) {
        for (const int p : g.ops[op].parameters) {
            if (counted[to_size(p)] == 0 && g.parameters[p].trained) {
                counted[to_size(p)] = 1;
                w.parameters += detail::share_met(g, op) * static_cast<double>(g.parameters[p].extents.volume());
            }
        }
        const double pairs = detail::flops_of_pairs(g, op);
        of_pairs += pairs;
        if (pairs == 0 && g.facts(op).work != work_kind::elementwise) {
            products += 3 * static_cast<double>(forward_flops(g.describe(op)));
        }
    }
    w.flops = of_pairs + (w.tokens > 0 ? 6 * w.parameters * static_cast<double>(w.tokens) : products);
    return w;
}

TESSERA_INLINE double recomputed_flops(const graph_view& g, const plan& p) {
    double flops = 0;
    int described = -1;
    description d;
    for (const task& t : p.tasks) {
        if (t.kind() != task_kind::compute || t.what != pass::recompute) {
            continue;
        }
        if (t.op != described) {
            d = g.describe(t.op);
            described = t.op;
        }
        if (d.facts.work != work_kind::elementwise) {
            flops += static_cast<double>(flops_of(d, t));
        }
    }
    return flops / p.steps_per_plan;
}

TESSERA_INLINE step_figures figures_of(const model_work& w, double recomputed, const cluster& on, index_t step_ns) {
    step_figures f;
    if (step_ns < 1) {
        return f;
    }
    const double seconds = static_cast<double>(step_ns) * 1e-9;
    double peak = 0;
    for (int d = 0; d < on.devices(); ++d) {
        peak += 1e9 * static_cast<double>(on.class_of(d).rate(work_kind::matrix_product, w.math));
    }
    f.samples_per_second = static_cast<double>(w.samples) / seconds;
    f.tokens_per_second = static_cast<double>(w.tokens) / seconds;
    f.model_share = w.flops / seconds / peak;
    f.device_share = (w.flops + recomputed) / seconds / peak;
    return f;
}

TESSERA_INLINE memory_split split_of_memory(const graph_view& g, const plan& p, int device) {
    memory_split s;
    const std::vector<tessera::detail::lifetime> live = tessera::detail::lifetimes(p);
    const auto bytes = [&](const tile& t) { return tessera::detail::align(t.bytes, p.alignment); };
    std::vector<index_t> change(p.tasks.size() + 2, 0);
    const auto works = [&](std::size_t i) {
        const tile& t = p.tiles[i];
        return t.device == device && t.alias < 0 && !t.on_host && !is_persistent(t.kind) && live[i].first >= 0;
    };
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        const tile& t = p.tiles[i];
        if (works(i)) {
            change[to_size(live[i].first)] += bytes(t);
            change[to_size(live[i].last + 1)] -= bytes(t);
        } else if (t.device == device && t.alias < 0 && is_persistent(t.kind)) {
            index_t& of = t.kind == tile_kind::parameter         ? s.parameters
                          : t.kind == tile_kind::optimizer_state ? s.optimizer_state
                                                                 : s.buffers;
            of += bytes(t);
        }
    }
    int fullest = 0;
    index_t now = 0;
    index_t most = 0;
    for (std::size_t i = 0; i < change.size(); ++i) {
        now += change[i];
        if (now > most) {
            most = now;
            fullest = static_cast<int>(i);
        }
    }
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        if (!works(i) || live[i].first > fullest || live[i].last < fullest) {
            continue;
        }
        s.*detail::part_of(g, p.tiles[i]) += bytes(p.tiles[i]);
    }
    s.buffers += p.arena_bytes[to_size(device)] + p.persistent_bytes[to_size(device)] - s.sum();
    return s;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
