// SPDX-License-Identifier: Apache-2.0
// What an operator's shards compute at least, known from its configuration alone: a change that overloads a device is found out before anything
// is lowered.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/simulate/task_time.hpp"
#include "tessera/strategy/change.hpp"

#include <algorithm>

namespace tessera::simulation {

/// ns that a device computes at least.
struct device_work {
    int device = 0;
    index_t work = 0;
};

/// Bounds from below what the plan's compute tasks take by the roofline: their arithmetic, and one launch for each shard. (Measured profiles
/// have no such bound.)
class least_work {
public:
    least_work(const graph_view& g, const cost::roofline_efficiency& reached)
        : g_(g), reached_(reached), needs_(at(g.tensor_count), 0), reaches_(at(g.op_count), 0) {
        descriptions_.reserve(at(g.op_count));
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
            bool needs = false;
            for (int p : g.ops[op].parameters) {
                needs = needs || g.parameters[p].trained;
            }
            for (int t : g.ops[op].inputs) {
                needs = needs || needs_[at(t)] != 0;
            }
            needs_[at(g.ops[op].output)] = needs ? 1 : 0;
        }
        for (int op = g.op_count - 1; op >= 0; --op) {
            reaches_[at(op)] = reaches_[at(op)] != 0 || g.is_loss(op) ? 1 : 0;
            for (int t : g.ops[op].inputs) {
                if (reaches_[at(op)] != 0 && g.tensors[t].producer >= 0) {
                    reaches_[at(g.tensors[t].producer)] = 1;
                }
            }
        }
    }

    /// ns of one shard, forward and backward.
    index_t time_of(int op, const shard& s, const device_class& on) const {
        const description& d = descriptions_[at(op)];
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
                w.flops += flops_of_nest(d, nest, s.ranges);
            }
        }
        constexpr index_t roundings = 8; // every task's time is rounded down
        return std::max<index_t>(0, cost::roofline_time(w, on, reached_) - roundings);
    }

    /// Of every shard of an operator with a configuration.
    std::vector<device_work> of(const change& x, const cluster& on) const {
        std::vector<device_work> all;
        for (int i = 0; i < x.what.shards(); ++i) {
            const shard s = shard_at(x.what, x.pool.data(), descriptions_[at(x.op)], i);
            all.push_back({s.device, time_of(x.op, s, on.class_of(s.device))});
        }
        return all;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    bool is_wanted(int op, const operand& x) const {
        const op_node& node = g_.ops[op];
        if (reaches_[at(op)] == 0 || needs_[at(node.output)] == 0) {
            return false;
        }
        return x.kind == operand_kind::input       ? needs_[at(node.inputs[x.slot])] != 0
               : x.kind == operand_kind::parameter ? g_.parameters[node.parameters[x.slot]].trained
                                                   : false;
    }

    graph_view g_;
    cost::roofline_efficiency reached_;
    std::vector<description> descriptions_;
    std::vector<char> needs_;   ///< tensors that need a gradient
    std::vector<char> reaches_; ///< operators that a loss depends on
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
