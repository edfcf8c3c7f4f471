// SPDX-License-Identifier: Apache-2.0
// Zero bubble with two stages on each worker, in the shape of a V: Qi et al., "Pipeline parallelism with controllable
// memory" (arXiv 2405.15362): ZB-V.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

namespace tessera::schedule {

namespace detail {

/// The list of one worker while it grows: its two stages, and how far each has come with every kind of action.
class v_worker {
public:
    v_worker(std::vector<action>& list, int down, int up, int micro_batches)
        : list_(list), stage_{down, up}, micro_batches_(micro_batches) {}

    /// The next micro-batch of a chunk; those that do not exist are counted alone.
    void forward(int chunk) { put(chunk, action_kind::forward, forward_[chunk]); }
    void input(int chunk) { put(chunk, action_kind::backward_input, input_[chunk]); }
    void weight(int chunk) { put(chunk, action_kind::backward_weight, weight_[chunk]); }
    void backward(int chunk);
    int forwards(int chunk) const { return forward_[chunk]; }
    bool owes_weights(int chunk) const { return weight_[chunk] < input_[chunk]; }

private:
    void put(int chunk, action_kind what, int& next);

    std::vector<action>& list_;
    int stage_[2];
    int micro_batches_;
    int forward_[2]{};
    int input_[2]{};
    int weight_[2]{};
};

} // namespace detail

/// Worker w of p has the stages w (chunk 0, on the way down) and 2p - 1 - w (chunk 1, on the way up), so that the last
/// worker turns micro-batches round and the first one has both ends. Worker w fills with 2 (p - w) - 1 micro-batches of
/// chunk 0 and then w pairs of chunk 1 and chunk 0; then p - w times chunk 1 forward and backward; then, in turn, chunk
/// 0 and chunk 1 each forward and backward; the gradients of weights that are left fill the drain. Where forward,
/// backward_input and backward_weight take equally long and there are at least 2p - 1 micro-batches, no worker idles
/// between its first and its last action. At most 2p chunks, which is p micro-batches' worth, in flight everywhere.
pipeline_schedule zero_bubble_v(int workers, int micro_batches);

inline constexpr schedule_record zero_bubble_v_record{
    .name = "zero-bubble-v",
    .title = "ZB-V",
    .about = "zero bubble with two stages on each worker, down the workers and up again",
    .make = [](const settings& x, const action_times&) { return zero_bubble_v(x.workers, x.micro_batches); },
    .stages = [](const settings& x) { return x.workers * 2; },
    .worker_of = [](const settings& x, int stage) { return stage < x.workers ? stage : 2 * x.workers - 1 - stage; },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<zero_bubble_v>, with two stages of every worker.
struct zero_bubble_v {
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_pipeline(stages / 2, stages, micro_batches);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {stages / 2 * 2, micro_batches, rule::joint_statistics_split_backward};
    }
    static constexpr int worker_of(int stage, int stages) { return stage < stages / 2 ? stage : stages - 1 - stage; }
    static pipeline_schedule make(int stages, int micro_batches);
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/zero_bubble_v.inl"
#endif

#include "tessera/base/end_header.inl"
