// SPDX-License-Identifier: Apache-2.0
// What lowering does in a step of a stage, what it keeps for each micro-batch, and what it computes again.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

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
        const bool renames = g_.facts(op).view && producer >= 0;
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
    for (auto& [key, states] : intermediates_) {
        for (std::size_t i = 0; i < states.size() && key / max_operands == op; ++i) {
            states[i].values = {};
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
