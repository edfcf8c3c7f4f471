// SPDX-License-Identifier: Apache-2.0
// Micro-batches, stages and their order: what lowering does when, what it keeps for each micro-batch, and what it computes again.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// Decides on the steps and their order: a schedule's, or micro-batches one after the other through all stages.
template <class Options>
void lowering<Options>::arrange() {
    const int count = s_.micro_batches;
    if (count < 1) {
        throw error("tessera: a batch cannot be cut into " + std::to_string(count) + " micro-batches; say at least 1");
    }
    if (count > 1 && o_.output_gradient >= 0) {
        throw error("tessera: a gradient handed in from outside goes with one micro-batch, not with " +
                    std::to_string(count));
    }
    p_.micro_batches = count;
    for (int op = 0; op < g_.op_count && count > 1 && s_.statistics == statistics_over::mini_batch; ++op) {
        const bool normalizes = g_.ops[op].attributes.kind == op_kind::batch_norm;
        p_.joint_statistics = p_.joint_statistics || (normalizes && o_.kind == run_kind::training);
    }
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
    while (g_.ops[op].attributes.kind != op_kind::batch_norm) {
        ++op;
    }
    throw error("tessera: " + std::string(g_.ops[op].name) +
                " takes its statistics over the mini-batch, so that no micro-batch may leave it before all are there, "
                "and " +
                why + "; use GPipe's schedule, take statistics over the micro-batch, or use one micro-batch");
}

/// Forgets what the step before this one has left in the state of lowering; parameters, and the optimizer's state, go on.
template <class Options>
void lowering<Options>::begin_step() {
    if (step_ == 0) {
        return;
    }
    select(0);
    const auto forget_all = [this](auto& values, auto& gathered_values, auto& gradients, auto& gathered_gradients) {
        values = inputs_;
        gathered_values.assign(count(g_.tensor_count), {});
        gradients.assign(count(g_.tensor_count), {});
        gathered_gradients.assign(count(g_.tensor_count), {});
    };
    forget_all(values_, gathered_values_, gradients_, gathered_gradients_);
    intermediates_.clear();
    joint_intermediates_.clear();
    recomputed_.assign(stages_.size(), 0);
    for (int m = 1; m < p_.micro_batches; ++m) {
        micro_batch_state& x = micro_batches_[at(m)];
        forget_all(x.values, x.gathered_values, x.gradients, x.gathered_gradients);
        x.intermediates.clear();
        x.recomputed = recomputed_;
    }
    parameter_gradients_.assign(count(g_.parameter_count), {});
    accumulators_.assign(count(g_.op_count), {});
    forwards_left_.assign(count(g_.op_count), sweeps_);
    uses_left_ = uses_;
    parameter_copies_.clear();
    whole_copies_.clear();
    norms_.clear();
    reduced_.clear();
    sum_tiles_.clear();
    local_sums_.clear();
    next_message_ = 0;
}

/// Stages are numbered from 0 without gaps, and none reads what a later one makes.
template <class Options>
void lowering<Options>::check_stages() const {
    int last = 0;
    for (int op = 0; op < g_.op_count; ++op) {
        const int own = config(op).stage;
        if (own < 0) {
            throw error("tessera: " + std::string(g_.ops[op].name) + " is in stage " + std::to_string(own) +
                        "; stages count from 0");
        }
        last = own > last ? own : last;
        for (int t : g_.ops[op].inputs) {
            const int producer = g_.tensors[t].producer;
            if (producer >= 0 && config(producer).stage > own) {
                throw error("tessera: " + std::string(g_.ops[op].name) + " in stage " + std::to_string(own) +
                            " reads what " + std::string(g_.ops[producer].name) + " makes in the later stage " +
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

template <class Options>
std::vector<shard> lowering<Options>::shards_of(int op, int micro_batch) const {
    std::vector<shard> all;
    const configuration& c = config(op);
    const bool mirrored = s_.schedule != nullptr && s_.schedule->is_mirrored(micro_batch);
    for (int i = 0; i < c.shards(); ++i) {
        all.push_back(shard_at(c, s_.pool, desc(op), i));
        if (p_.micro_batches > 1) {
            confine(all.back(), c, s_.pool, desc(op),
                    even_part(g_.tensors[0].extents[0], p_.micro_batches, micro_batch));
        }
        all.back().device = mirrored ? p_.devices - 1 - all.back().device : all.back().device;
    }
    return all;
}

template <class Options>
void lowering<Options>::prepare_micro_batches() {
    accumulators_.resize(count(g_.op_count));
    forwards_left_.assign(count(g_.op_count), sweeps_);
    recomputed_.assign(stages_.size(), 0);
    const index_t batch = g_.tensors[0].extents[0];
    samples_ = even_part(batch, p_.micro_batches, 0);
    micro_batches_.resize(count(p_.micro_batches));
    for (int m = 1; m < p_.micro_batches; ++m) {
        micro_batch_state& x = micro_batches_[at(m)];
        x.values = values_; // so far the inputs
        x.gathered_values.resize(count(g_.tensor_count));
        x.gradients.resize(count(g_.tensor_count));
        x.gathered_gradients.resize(count(g_.tensor_count));
        x.recomputed = recomputed_;
        x.samples = even_part(batch, p_.micro_batches, m);
        for (int op = 0; op < g_.op_count; ++op) {
            x.shards.push_back(shards_of(op, m));
            place_parameters(op, x.shards.back()); // a mirrored one has parameters of its own
        }
    }
}

/// Takes another micro-batch to hand.
template <class Options>
void lowering<Options>::select(int micro_batch) {
    if (micro_batch != micro_batch_) {
        exchange(micro_batches_[at(micro_batch_)]);
        micro_batch_ = micro_batch;
        exchange(micro_batches_[at(micro_batch_)]);
    }
}

template <class Options>
void lowering<Options>::exchange(micro_batch_state& with) {
    values_.swap(with.values);
    gathered_values_.swap(with.gathered_values);
    gradients_.swap(with.gradients);
    gathered_gradients_.swap(with.gathered_gradients);
    intermediates_.swap(with.intermediates);
    shards_.swap(with.shards);
    recomputed_.swap(with.recomputed);
    const interval own = samples_;
    samples_ = with.samples;
    with.samples = own;
}

/// Does some work for every micro-batch that has come to its stage.
template <class Options>
template <class Work>
void lowering<Options>::for_each_together(const Work& work) {
    for (const int m : together_) {
        select(m);
        work();
    }
}

/// A step of a stage that has a batch norm over all micro-batches waits for theirs; then one operator after the other takes them all.
template <class Options>
void lowering<Options>::perform_jointly(const step& x) {
    together_.push_back(x.micro_batch);
    if (static_cast<int>(together_.size()) < sweeps_) {
        return;
    }
    const std::vector<int>& ops = stages_[at(x.stage)];
    for (std::size_t i = 0; i < ops.size() && x.what == step_kind::forward; ++i) {
        is_joint(ops[i]) ? forward_jointly(ops[i]) : for_each_together([&] { forward(ops[i]); });
    }
    if (x.what == step_kind::backward) {
        for_each_together([&] { recompute(x.stage); });
    }
    for (std::size_t i = ops.size(); i-- > 0 && x.what == step_kind::backward;) {
        is_joint(ops[i]) ? backward_jointly(ops[i]) : for_each_together([&] { backward(ops[i]); });
    }
    together_.clear();
}

template <class Options>
void lowering<Options>::perform(const step& x) {
    select(x.micro_batch);
    const std::vector<int>& ops = stages_[at(x.stage)];
    bool joint = false;
    for (int op : ops) {
        joint = joint || is_joint(op);
    }
    if (joint && x.what != step_kind::recompute) {
        perform_jointly(x);
        return;
    }
    if (x.what == step_kind::forward) {
        for (int op : ops) {
            forward(op);
        }
        return;
    }
    recompute(x.stage);
    const backward_part part = x.what == step_kind::backward_input    ? backward_part::input
                               : x.what == step_kind::backward_weight ? backward_part::weight
                                                                      : backward_part::all;
    for (std::size_t i = ops.size(); i-- > 0 && x.what != step_kind::recompute;) {
        backward(ops[i], part);
    }
}

/// Makes the results of a stage's operators that recompute once more, if backward reads them; what backward then reads is the second time's, so
/// that the memory of the first is free after forward.
template <class Options>
void lowering<Options>::recompute(int stage) {
    if (recomputed_[at(stage)] != 0) {
        return;
    }
    recomputed_[at(stage)] = 1;
    if (s_.schedule != nullptr && s_.schedule->keeps_results(micro_batch_)) {
        return;
    }
    const std::vector<int>& ops = stages_[at(stage)];
    std::vector<char> again(count(g_.op_count), 0);
    for (std::size_t i = ops.size(); i-- > 0;) {
        const int op = ops[i];
        const int producer = g_.tensors[g_.ops[op].inputs[0]].producer;
        const bool renames = g_.ops[op].attributes.kind == op_kind::flatten && producer >= 0;
        const bool says = config(op).recompute || (renames && config(producer).recompute);
        again[at(op)] = says && !g_.is_loss(op) && is_read_backward(op, again) ? 1 : 0;
    }
    for (int op : ops) {
        if (again[at(op)] != 0) { // statistics over all micro-batches stay
            forget(op);
            forward(op, true);
        }
    }
}

/// True where the operator itself or another of its stage reads its results backward, or forward again.
template <class Options>
bool lowering<Options>::is_read_backward(int op, const std::vector<char>& again) const {
    const auto reads = [&](int by, int operand) {
        for (int o = 0; o < desc(by).operands.size() && needs_gradient_[at(g_.ops[by].output)] != 0; ++o) {
            if (is_wanted(by, o) && has(desc(by).operands[o].gradient_reads, operand)) {
                return true;
            }
        }
        return false;
    };
    for (int o = 0; o < desc(op).operands.size(); ++o) {
        const operand_kind k = desc(op).operands[o].kind;
        if ((k == operand_kind::output || k == operand_kind::intermediate) && reads(op, o)) {
            return true;
        }
    }
    for (int c : stages_[at(config(op).stage)]) {
        for (int o = 0; o < desc(c).operands.size(); ++o) {
            const operand& x = desc(c).operands[o];
            if (x.kind == operand_kind::input && g_.ops[c].inputs[x.slot] == g_.ops[op].output &&
                (again[at(c)] != 0 || reads(c, o))) {
                return true;
            }
        }
    }
    return false;
}

template <class Options>
void lowering<Options>::forget(int op) {
    values_[at(g_.ops[op].output)] = {};
    gathered_values_[at(g_.ops[op].output)].clear();
    for (auto& [key, state] : intermediates_) {
        if (key / max_operands == op) {
            state.values = {};
            state.gathered.clear();
        }
    }
}

/// A task that writes the sum of some tiles of its device to another.
template <class Options>
int lowering<Options>::add_sum(int op, pass what, int shard_number, int device, const std::vector<int>& from, int to) {
    task& t = add_task(task_kind::sum, op, what, shard_number, device);
    t.reads = from;
    t.writes = {to};
    return to;
}

} // namespace tessera::detail
