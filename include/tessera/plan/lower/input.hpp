// SPDX-License-Identifier: Apache-2.0
// What is lowered: a network, a strategy and options, and what follows from them before anything has a place. Nothing here changes while a plan
// grows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/first_users.hpp"
#include "tessera/net/parameter_groups.hpp"
#include "tessera/plan/plan.hpp"

#include <string>
#include <utility>

namespace tessera {

struct lower_options {
    run_kind kind = run_kind::training;
    optimizer update;            ///< how many states a parameter has, and whether gradients are clipped
    bool keep_gradients = false; ///< gradients stay readable after the run
    bool allow_empty = false;    ///< a short batch may leave some shards without samples
    /// An input that holds the gradient of the last operator's output; inputs then get gradients too, and these and the output are
    /// results of the plan. It lets a network without a loss go backward. -1: none.
    int output_gradient = -1;
    std::vector<int> wanted{}; ///< tensors that operators make and that are results too
    /// Tiles of the parameters of the plan whose parameters this one's run takes, or null. A plan of a part of the network, or of fewer
    /// micro-batches, has fewer copies of a parameter, and would make other slices of them.
    const std::vector<tile>* stored = nullptr;
};

namespace lowering {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// What lowering reads.
struct lowering_input {
    graph_view g;
    strategy_view s;
    lower_options o;
    int devices = 1;
    std::vector<description> descriptions; ///< by operator
    std::vector<char> needs_gradient;      ///< by tensor
    std::vector<int> first_user;           ///< operator, by parameter
    std::vector<char> layerwise;           ///< by parameter: its steps are scaled by norms of all of it
    bool joint_statistics = false;         ///< batch norms take theirs over all micro-batches together

    lowering_input(const graph_view& network, const strategy_view& how, int device_count, const lower_options& options)
        : g(network), s(how), o(options), devices(device_count), needs_gradient(at(network.tensor_count), 0),
          first_user(first_users_of(network)), layerwise(at(network.parameter_count), 0) {
        descriptions.reserve(at(g.op_count));
        for (int op = 0; op < g.op_count; ++op) {
            descriptions.push_back(g.describe(op));
            const bool over_all = s.micro_batches > 1 && s.statistics == statistics_over::mini_batch && trains();
            joint_statistics = joint_statistics || (over_all && desc(op).has_running_state());
        }
        find_gradients();
        for (int p = 0; p < g.parameter_count && trains() && o.update.is_layerwise(); ++p) {
            layerwise[at(p)] = g.parameters[p].trained && rule_for(o.update, g, p).is_layerwise() ? 1 : 0;
        }
    }

    bool trains() const { return o.kind == run_kind::training; }
    bool clips() const { return trains() && o.update.clip_norm > 0; }
    /// Gradients are summed by tasks of their own, since norms of them are needed before any update, or any of their parameter.
    bool sums_first() const { return clips() || (trains() && o.update.is_layerwise()); }
    bool has_messages() const { return trains() && s.sync != nullptr && !s.sync->messages.empty(); }
    bool averages() const { return trains() && s.sync != nullptr && s.sync->average_every > 0; }
    bool compresses() const { return has_messages() && s.sync->compress != compression::none; }
    /// Steps by which updates come late; in a plan of one step none.
    int staleness() const {
        const int wanted = has_messages() ? s.sync->staleness : 0;
        return wanted < period() ? wanted : period() - 1;
    }
    bool sums_late() const { return has_messages() && s.sync->sum_at == sync_time::after_backward; }
    /// Of messages' sums.
    bool updates_wait() const { return sums_first() || s.sync->update_at == sync_time::after_backward; }
    bool is_mirrored(int micro_batch) const { return s.schedule != nullptr && s.schedule->is_mirrored(micro_batch); }
    int period() const { return trains() ? s.period : 1; }

    const configuration& config(int op) const { return s.ops[op]; }
    const description& desc(int op) const { return descriptions[at(op)]; }
    /// Region of an operand; that of a parameter does not depend on the loops that do not index it, so an empty shard has one too.
    box region_of(int op, int which, const shard& x) const { return region(desc(op), which, x.ranges); }

    bool is_empty(const shard& x, int op) const {
        for (int l = 0; l < desc(op).loops.size(); ++l) {
            if (x.ranges[l].empty()) {
                return true;
            }
        }
        return false;
    }

    /// Samples of a micro-batch.
    interval samples_of(int micro_batch) const {
        return even_part(g.tensors[0].extents[0], s.micro_batches, micro_batch);
    }
    std::vector<shard> shards_of(int op, int micro_batch) const {
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

    /// True for an operator whose intermediates are sums over all micro-batches: each of these leaves a part of its own.
    bool is_joint(int op) const { return joint_statistics && desc(op).has_running_state(); }
    /// True for an operator each of whose shards of samples takes statistics of its own.
    bool takes_own_statistics(int op) const {
        return s.statistics == statistics_over::replica && trains() && statistics_loop(desc(op)) >= 0;
    }
    /// Which of these a shard takes part in: those of the shards with its samples.
    int replica_of(int op, const shard& x) const {
        return takes_own_statistics(op) ? x.index[statistics_loop(desc(op))] : 0;
    }
    /// Parts of what nest `k` of an operator writes, as far as they are added up.
    int added_parts(int op, int k) const {
        configuration c = config(op);
        const int loop = statistics_loop(desc(op)); // below 0 of most, which g++ 12 at -O2 takes for an index if it may
        if (loop >= 0 && takes_own_statistics(op) && k + 1 < desc(op).nests.size()) c.degree[loop] = 1;
        return parts_of_nest(c, desc(op), k);
    }

    /// True for an operand whose gradient is made.
    bool is_wanted(int op, int which) const {
        const operand& x = desc(op).operands[which];
        switch (x.kind) {
        case operand_kind::input:
            return needs_gradient[at(g.ops[op].inputs[x.slot])] != 0;
        case operand_kind::parameter:
            return g.parameters[g.ops[op].parameters[x.slot]].trained;
        case operand_kind::intermediate:
            return x.differentiable;
        default:
            return false;
        }
    }

private:
    void find_gradients() {
        for (int t = 0; t < g.tensor_count; ++t) {
            const tensor_node& n = g.tensors[t];
            const bool from_outside = o.output_gradient >= 0 && t != o.output_gradient;
            needs_gradient[at(t)] = n.producer < 0 && from_outside && n.type != element::i32 ? 1 : 0;
        }
        for (int op = 0; op < g.op_count; ++op) {
            bool needs = false;
            for (int p : g.ops[op].parameters) {
                needs = needs || g.parameters[p].trained;
            }
            for (const operand& x : desc(op).operands) { // none flows through where an expert's slots are
                const bool flows = x.kind == operand_kind::input && x.differentiable;
                needs = needs || (flows && needs_gradient[at(g.ops[op].inputs[x.slot])] != 0);
            }
            needs_gradient[at(g.ops[op].output)] = needs ? 1 : 0;
        }
    }
};

} // namespace lowering

} // namespace tessera

#include "tessera/base/end_header.inl"
