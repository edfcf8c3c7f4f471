// SPDX-License-Identifier: Apache-2.0
// What is lowered: a network, a strategy and options, and what follows from them before anything has a place. Nothing
// here changes while a plan grows.
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
    /// An input that holds the gradient of the last operator's output; inputs then get gradients too, and these and the
    /// output are results of the plan. It lets a network without a loss go backward. -1: none.
    int output_gradient = -1;
    std::vector<int> wanted{}; ///< tensors that operators make and that are results too
    /// Tiles of the parameters of the plan whose parameters this one's run takes, or null. A plan of a part of the
    /// network, or of fewer micro-batches, has fewer copies of a parameter, and would make other slices of them.
    const std::vector<tile>* stored = nullptr;
    /// More than 2: the strategy is for the first two of so many equal parts of a machine, which do the same, each with
    /// samples of its own (the first is the one that may differ: it has the first summands). Parameters have copies in
    /// every part, and the tasks of the two sum, update and store the slices that they have in a plan for all. Such a
    /// plan is there to be simulated (see simulation::task_times::planned_parts), and cannot run.
    int parts = 0;
    bool* unlike = nullptr; ///< with parts: set where parts would take copies of a tile from different places
};

/// Parts that a plan for one of many stands for.
inline constexpr int planned_parts = 2;

namespace lowering {

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

    lowering_input(const graph_view& network, const strategy_view& how, int device_count, const lower_options& options);

    bool for_training() const { return o.kind == run_kind::training; }
    bool clips() const { return for_training() && o.update.clip_norm > 0; }
    /// Gradients are summed by tasks of their own, since norms of them are needed before any update, or any of their
    /// parameter.
    bool reduces_apart() const { return clips() || (for_training() && o.update.is_layerwise()); }
    bool has_messages() const { return for_training() && s.sync != nullptr && !s.sync->messages.empty(); }
    bool averages() const { return for_training() && s.sync != nullptr && s.sync->average_every > 0; }
    bool compresses() const { return has_messages() && s.sync->compress != compression::none; }
    /// Steps by which updates come late; in a plan of one step none.
    int staleness() const;
    bool sums_late() const { return has_messages() && s.sync->sum_at == sync_time::after_backward; }
    /// Of messages' sums.
    bool updates_wait() const { return reduces_apart() || s.sync->update_at == sync_time::after_backward; }
    bool is_mirrored(int micro_batch) const { return s.schedule != nullptr && s.schedule->is_mirrored(micro_batch); }
    bool is_of_parts() const { return o.parts > planned_parts; }
    /// Of a slice for each of so many members: how many slices there are in all parts.
    int in_all_parts(int members) const { return is_of_parts() ? members / planned_parts * o.parts : members; }
    int steps_per_plan() const { return for_training() ? s.steps_per_plan : 1; }

    const configuration& config(int op) const { return s.ops[op]; }
    const description& desc(int op) const { return descriptions[to_size(op)]; }
    /// Region of an operand; that of a parameter does not depend on the loops that do not index it, so an empty shard
    /// has one too.
    box region_of(int op, int which, const shard& x) const { return region(desc(op), which, x.ranges); }

    bool is_empty(const shard& x, int op) const;

    /// Samples of a micro-batch.
    interval samples_of(int micro_batch) const;
    std::vector<shard> shards_of(int op, int micro_batch) const;

    /// True for an operator whose intermediates are sums over all micro-batches: each of these leaves a part of its
    /// own.
    bool is_joint(int op) const { return joint_statistics && desc(op).has_running_state(); }
    /// True for an operator each of whose shards of samples takes statistics of its own.
    bool takes_own_statistics(int op) const;
    /// Its output waits for backward in the host's memory.
    bool offloads(int op) const {
        return for_training() && config(op).offload && !config(op).recompute && !g.is_loss(op) && !g.facts(op).view;
    }
    /// The optimizer's state is in the host's memory, and updates are made there.
    bool state_on_host() const { return for_training() && s.state_on_host && o.update.state_count() > 0; }
    /// Which of these a shard takes part in: those of the shards with its samples.
    int replica_of(int op, const shard& x) const;
    /// Parts of what nest `k` of an operator writes, as far as they are added up.
    int added_parts(int op, int k) const;

    /// True for an operand whose gradient is made.
    bool is_wanted(int op, int which) const;

private:
    void find_gradients();
};

} // namespace lowering

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/input.inl"
#endif

#include "tessera/base/end_header.inl"
