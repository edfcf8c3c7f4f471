// SPDX-License-Identifier: Apache-2.0
// Stages and the order of their steps: a schedule's, or micro-batches one after the other; what does not fit is refused.
#pragma once

#include "tessera/plan/lowering.hpp"
#include "tessera/schedule/timetable.hpp"

namespace tessera::detail {

/// Decides on the steps and their order: a schedule's, or micro-batches one after the other through all stages.
template <class Options>
void lowering<Options>::arrange() {
    const int count = s_.micro_batches;
    if (count < 1) {
        throw error("tessera: a batch cannot be cut into " + std::to_string(count) + " micro-batches; say at least 1");
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
    if (p_.period < 1 || (p_.period > 1 && (s_.parameters_on >= 0 || o_.output_gradient >= 0))) {
        throw error("tessera: a plan of " + std::to_string(p_.period) +
                    " steps; there must be at least one, and with parameters on one device alone, or a gradient handed "
                    "in from outside, not more");
    }
    check_stages();
    for (int op = 0; op < g_.op_count; ++op) {
        const auto stage = static_cast<std::size_t>(config(op).stage);
        stages_.resize(stages_.size() > stage ? stages_.size() : stage + 1);
        stages_[stage].push_back(op);
    }
    const int stages = static_cast<int>(stages_.size());
    std::vector<step> all;
    if (s_.schedule != nullptr) {
        if (s_.schedule->stages != stages || s_.schedule->micro_batches != count) {
            throw error("tessera: the schedule is for " + std::to_string(s_.schedule->stages) + " stages and " +
                        std::to_string(s_.schedule->micro_batches) + " micro-batches, the strategy has " +
                        std::to_string(stages) + " and " + std::to_string(count));
        }
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
    const index_t batch = g_.tensors[0].extents[0];
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
/// Refused where a worker would do it otherwise.
template <class Options>
void lowering<Options>::arrange_jointly(std::vector<step>& all) {
    if (s_.schedule == nullptr) {
        refuse_joint_statistics("micro-batches go backward one after the other");
    }
    for (const std::vector<step>& list : s_.schedule->workers) {
        const step* last = nullptr;
        for (const step& x : list) {
            if (s_.schedule->is_mirrored(x.micro_batch)) {
                refuse_joint_statistics("the schedule has a mirrored replica, whose statistics are its own");
            }
            if (x.what == step_kind::backward_input || x.what == step_kind::backward_weight) {
                refuse_joint_statistics("the schedule splits backward");
            }
            const bool forward = x.what == step_kind::forward;
            if (last != nullptr && forward && (last->what != step_kind::forward || last->stage > x.stage)) {
                refuse_joint_statistics("the schedule does not finish all micro-batches forward first");
            }
            if (last != nullptr && !forward && last->what != step_kind::forward && last->stage < x.stage) {
                refuse_joint_statistics("the schedule does not take one stage after the other backward");
            }
            last = &x;
        }
    }
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

template <class Options>
void lowering<Options>::refuse_joint_statistics(const char* why) const {
    int op = 0;
    while (!g_.describe(op).has_running_state()) {
        ++op;
    }
    throw error("tessera: " + path_of(g_, op) +
                " takes its statistics over the mini-batch, so that no micro-batch may leave it before all are there, "
                "and " +
                why + "; use GPipe's schedule, take statistics over the micro-batch, or use one micro-batch");
}

/// Stages are numbered from 0 without gaps, and none reads what a later one makes.
template <class Options>
void lowering<Options>::check_stages() const {
    int last = 0;
    for (int op = 0; op < g_.op_count; ++op) {
        const int own = config(op).stage;
        if (own < 0) {
            throw error("tessera: " + path_of(g_, op) + " is in stage " + std::to_string(own) +
                        "; stages count from 0");
        }
        last = own > last ? own : last;
        for (int t : g_.ops[op].inputs) {
            const int producer = g_.tensors[t].producer;
            if (producer >= 0 && config(producer).stage > own) {
                throw error("tessera: " + path_of(g_, op) + " in stage " + std::to_string(own) + " reads what " +
                            path_of(g_, producer) + " makes in the later stage " +
                            std::to_string(config(producer).stage));
            }
        }
    }
    if (last >= g_.op_count) {
        throw error("tessera: there are " + std::to_string(last + 1) + " stages and " + std::to_string(g_.op_count) +
                    " operators; every stage needs one");
    }
    std::vector<char> filled(at(last + 1), 0);
    for (int op = 0; op < g_.op_count; ++op) {
        filled[at(config(op).stage)] = 1;
    }
    for (int i = 0; i <= last; ++i) {
        if (filled[at(i)] == 0) {
            throw error("tessera: stage " + std::to_string(i) + " of " + std::to_string(last + 1) +
                        " has no operator; number the stages without gaps");
        }
    }
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
