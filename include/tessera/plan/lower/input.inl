// SPDX-License-Identifier: Apache-2.0
// Bodies of input.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/input.hpp"

namespace tessera::lowering {

TESSERA_INLINE lowering_input::lowering_input(const graph_view& network, const strategy_view& how, int device_count,
                                              const lower_options& options)
    : g(network), s(how), o(options), devices(device_count), needs_gradient(to_size(network.tensor_count), 0),
      first_user(first_users_of(network)), layerwise(to_size(network.parameter_count), 0) {
    descriptions.reserve(to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        descriptions.push_back(g.describe(op));
        const bool over_all = s.micro_batches > 1 && s.statistics == statistics_over::mini_batch && for_training();
        joint_statistics = joint_statistics || (over_all && desc(op).has_running_state());
    }
    find_gradients();
    for (int p = 0; p < g.parameter_count && for_training() && o.update.is_layerwise(); ++p) {
        layerwise[to_size(p)] = g.parameters[p].trained && rule_for(o.update, g, p).is_layerwise() ? 1 : 0;
    }
}

TESSERA_INLINE int lowering_input::staleness() const {
    const int wanted = has_messages() ? s.sync->staleness : 0;
    return wanted < steps_per_plan() ? wanted : steps_per_plan() - 1;
}

TESSERA_INLINE bool lowering_input::is_empty(const shard& x, int op) const {
    for (int l = 0; l < desc(op).loops.size(); ++l) {
        if (x.ranges[l].empty()) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE interval lowering_input::samples_of(int micro_batch) const {
    return even_part(g.tensors[0].extents[0], s.micro_batches, micro_batch);
}

TESSERA_INLINE std::vector<shard> lowering_input::shards_of(int op, int micro_batch) const {
    std::vector<shard> all;
    const configuration& c = config(op);
    for (int i = 0; i < c.shards(); ++i) {
        all.push_back(shard_at(c, s.pool, desc(op), i));
        if (s.micro_batches > 1) {
            confine(all.back(), c, s.pool, desc(op), samples_of(micro_batch));
        }
        all.back().device = is_mirrored(micro_batch) ? devices - 1 - all.back().device : all.back().device;
    }
    return all;
}

TESSERA_INLINE bool lowering_input::takes_own_statistics(int op) const {
    return s.statistics == statistics_over::replica && for_training() && statistics_loop(desc(op)) >= 0;
}

TESSERA_INLINE int lowering_input::replica_of(int op, const shard& x) const {
    return takes_own_statistics(op) ? x.index[statistics_loop(desc(op))] : 0;
}

TESSERA_INLINE int lowering_input::added_parts(int op, int k) const {
    configuration c = config(op);
    const int loop = statistics_loop(desc(op)); // below 0 of most, which g++ 12 at -O2 takes for an index if it may
    if (loop >= 0 && takes_own_statistics(op) && k + 1 < desc(op).nests.size()) c.degree[loop] = 1;
    return parts_of_nest(c, desc(op), k);
}

TESSERA_INLINE bool lowering_input::is_wanted(int op, int which) const {
    const operand& x = desc(op).operands[which];
    switch (x.kind) {
    case operand_kind::input:
        return needs_gradient[to_size(g.ops[op].inputs[x.slot])] != 0;
    case operand_kind::parameter:
        return g.parameters[g.ops[op].parameters[x.slot]].trained;
    case operand_kind::intermediate:
        return x.differentiable;
    default:
        return false;
    }
}

TESSERA_INLINE void lowering_input::find_gradients() {
    for (int t = 0; t < g.tensor_count; ++t) {
        const tensor_node& n = g.tensors[t];
        const bool from_outside = o.output_gradient >= 0 && t != o.output_gradient;
        needs_gradient[to_size(t)] = n.producer < 0 && from_outside && n.type != element::i32 ? 1 : 0;
    }
    for (int op = 0; op < g.op_count; ++op) {
        bool needs = false;
        for (int p : g.ops[op].parameters) {
            needs = needs || g.parameters[p].trained;
        }
        for (const operand& x : desc(op).operands) { // none flows through where an expert's slots are
            const bool flows = x.kind == operand_kind::input && x.differentiable;
            needs = needs || (flows && needs_gradient[to_size(g.ops[op].inputs[x.slot])] != 0);
        }
        needs_gradient[to_size(g.ops[op].output)] = needs ? 1 : 0;
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
