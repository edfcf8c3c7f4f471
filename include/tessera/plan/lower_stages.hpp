// SPDX-License-Identifier: Apache-2.0
// Stages and the order of their steps: a schedule's, or micro-batches one after the other.
#pragma once

#include "tessera/plan/lowering.hpp"
#include "tessera/schedule/timetable.hpp"

namespace tessera::detail {

/// Decides on the steps and their order: a schedule's, or micro-batches one after the other through all stages.
template <class Options>
void lowering<Options>::arrange() {
    const int count = s_.micro_batches;
    const index_t batch = g_.tensors[0].extents[0];
    if (count < 1) { // and not more than samples only where the batch is whole
        require(g_, broken(rule::micro_batches_out_of_range, -1, -1, count, batch));
    }
    if (o_.output_gradient >= 0 &&
        (o_.output_gradient >= g_.tensor_count || g_.tensors[o_.output_gradient].producer >= 0)) {
        throw error("tessera: tensor " + std::to_string(o_.output_gradient) +
                    " is to hold a gradient handed in from outside, but it is no input of the network");
    }
    if (!(o_.update.loss_scale > 0)) {
        throw error("tessera: a loss scale of " + std::to_string(o_.update.loss_scale) +
                    ", by which gradients are divided; give one above 0");
    }
    if (count > 1 && o_.output_gradient >= 0) {
        throw error("tessera: a gradient handed in from outside goes with one micro-batch, not with " +
                    std::to_string(count));
    }
    p_.micro_batches = count;
    for (int op = 0; op < g_.op_count && count > 1 && s_.statistics == statistics_over::mini_batch; ++op) {
        const bool normalizes = g_.describe(op).has_running_state();
        p_.joint_statistics = p_.joint_statistics || (normalizes && o_.kind == run_kind::training);
    }
    p_.replica_statistics = s_.statistics == statistics_over::replica && o_.kind == run_kind::training;
    p_.period = o_.kind == run_kind::training ? s_.period : 1;
    if (p_.period > 1 && o_.output_gradient >= 0) {
        throw error("tessera: a gradient handed in from outside goes with a plan of one step, not of " +
                    std::to_string(p_.period));
    }
    if (p_.period < 1) {
        require(g_, broken(rule::period_out_of_range, -1, -1, p_.period, most_steps));
    }
    const schedule_facts facts = facts_of(s_);
    require(g_, check_stages(g_, s_, facts));
    if (o_.kind == run_kind::training) {
        require(g_, check_training(g_, s_, facts));
    }
    for (int op = 0; op < g_.op_count; ++op) {
        const auto stage = static_cast<std::size_t>(config(op).stage);
        stages_.resize(stages_.size() > stage ? stages_.size() : stage + 1);
        stages_[stage].push_back(op);
    }
    const int stages = static_cast<int>(stages_.size());
    std::vector<step> all;
    if (s_.schedule != nullptr) {
        for (const schedule::timetable::entry& e :
             schedule::timetable_of(*s_.schedule, {schedule::step_times{}}, stages_after()).steps) {
            all.push_back(e.what);
        }
    } else {
        for (int m = 0; m < count; ++m) {
            for (int i = 0; i < stages; ++i) {
                all.push_back({i, m, step_kind::forward});
            }
            for (int i = stages - 1; i >= 0; --i) {
                all.push_back({i, m, step_kind::backward});
            }
        }
    }
    if (p_.joint_statistics) {
        arrange_jointly(all);
    }
    sweeps_ = 0;
    for (int m = 0; m < count; ++m) {
        sweeps_ += even_part(batch, count, m).empty() ? 0 : 1;
    }
    for (const step& x : all) { // a short batch may leave micro-batches without samples
        const bool wanted = o_.kind == run_kind::training || x.what == step_kind::forward;
        if (wanted && !even_part(batch, count, x.micro_batch).empty()) {
            steps_.push_back(x);
        }
    }
}

/// Where batch norms take their statistics over all micro-batches: every stage forward for all of them, stage by stage, then every stage backward.
/// The schedule lets them, which is a rule.
template <class Options>
void lowering<Options>::arrange_jointly(std::vector<step>& all) {
    std::vector<step> joint;
    const int stages = static_cast<int>(stages_.size());
    for (int k = 0; k < 2 * stages; ++k) {
        const int stage = k < stages ? k : 2 * stages - 1 - k;
        for (const step& x : all) {
            if (x.stage == stage && (x.what == step_kind::forward) == (k < stages)) {
                joint.push_back(x);
            }
        }
    }
    all.swap(joint);
}

/// For every stage those that read what it makes.
template <class Options>
std::vector<std::vector<int>> lowering<Options>::stages_after() const {
    std::vector<std::vector<int>> after(stages_.size());
    for (int op = 0; op < g_.op_count; ++op) {
        for (int t : g_.ops[op].inputs) {
            const int producer = g_.tensors[t].producer;
            if (producer < 0 || config(producer).stage == config(op).stage) {
                continue;
            }
            std::vector<int>& list = after[at(config(producer).stage)];
            bool known = false;
            for (int i : list) {
                known = known || i == config(op).stage;
            }
            if (!known) {
                list.push_back(config(op).stage);
            }
        }
    }
    return after;
}

} // namespace tessera::detail
