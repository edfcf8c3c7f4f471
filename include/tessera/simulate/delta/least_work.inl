// SPDX-License-Identifier: Apache-2.0
// Bodies of least_work.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/least_work.hpp"

namespace tessera::simulation {

TESSERA_INLINE least_work::least_work(const graph_view& g, const cost::roofline_efficiency& reached)
    : g_(g), reached_(reached), needs_(to_size(g.tensor_count), 0), reaches_(to_size(g.op_count), 0) {
    descriptions_.reserve(to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
        bool needs = false;
        for (int p : g.ops[op].parameters) {
            needs = needs || g.parameters[p].trained;
        }
        for (int t : g.ops[op].inputs) {
            needs = needs || needs_[to_size(t)] != 0;
        }
        needs_[to_size(g.ops[op].output)] = needs ? 1 : 0;
    }
    for (int op = g.op_count - 1; op >= 0; --op) {
        reaches_[to_size(op)] = reaches_[to_size(op)] != 0 || g.is_loss(op) ? 1 : 0;
        for (int t : g.ops[op].inputs) {
            if (reaches_[to_size(op)] != 0 && g.tensors[t].producer >= 0) {
                reaches_[to_size(g.tensors[t].producer)] = 1;
            }
        }
    }
}

TESSERA_INLINE index_t least_work::time_of(int op, const shard& s, const device_class& on) const {
    const description& d = descriptions_[to_size(op)];
    for (int l = 0; l < d.loops.size(); ++l) {
        if (s.ranges[l].empty()) {
            return 0;
        }
    }
    if (d.facts.view) { // it only renames
        return 0;
    }
    cost::work w{d.facts.work, forward_flops(d, s.ranges), 0, g_.ops[op].attributes.math};
    for (int o = 0; o < d.operands.size() && !d.facts.passes_gradient; ++o) {
        const int nest = is_wanted(op, d.operands[o]) ? gradient_nest(d, o) : -1;
        if (nest >= 0 && !d.operands[o].additive && !region(d, o, s.ranges).empty()) {
            w.flops += d.operands[o].gradient_times * flops_of_nest(d, nest, s.ranges);
        }
    }
    constexpr index_t roundings = 8; // every task's time is rounded down
    return std::max<index_t>(0, cost::roofline_time(w, on, reached_) - roundings);
}

TESSERA_INLINE std::vector<device_work> least_work::of(const change& x, const cluster& on) const {
    std::vector<device_work> all;
    for (int i = 0; i < x.what.shards(); ++i) {
        const shard s = shard_at(x.what, x.pool.data(), descriptions_[to_size(x.op)], i);
        all.push_back({s.device, time_of(x.op, s, on.class_of(s.device))});
    }
    return all;
}

TESSERA_INLINE bool least_work::is_wanted(int op, const operand& x) const {
    const op_node& node = g_.ops[op];
    if (reaches_[to_size(op)] == 0 || needs_[to_size(node.output)] == 0) {
        return false;
    }
    return x.kind == operand_kind::input       ? needs_[to_size(node.inputs[x.slot])] != 0
           : x.kind == operand_kind::parameter ? g_.parameters[node.parameters[x.slot]].trained
                                               : false;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
