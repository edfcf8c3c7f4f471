// SPDX-License-Identifier: Apache-2.0
// Zero bubble, the variant of 1F1B's memory: backward is split, and gradients of weights fill the waits. Qi et al.,
// "Zero bubble pipeline parallelism" (arXiv 2401.10241): ZB-H1.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

#include <algorithm>

namespace tessera::schedule {

namespace detail {

/// 1F1B's order with the backward action of every micro-batch cut in two, weights' gradients left out.
pipeline_schedule without_weights(int stages, int micro_batches);

/// The same, stage i's weights' gradients of a micro-batch after i further ones have gone backward.
pipeline_schedule with_late_weights(pipeline_schedule s);

/// The same with the weights' gradients wherever a worker would otherwise wait for the next action of its order.
pipeline_schedule with_weights_in_waits(pipeline_schedule s, const action_times& times);

} // namespace detail

/// 1F1B whose stage i takes the weights' gradients of a micro-batch i micro-batches after its inputs'. Idle
/// (K-1)(forward + backward_input - backward_weight) where the three take equally long and there are at least K
/// micro-batches; at most K micro-batches in flight everywhere.
///
/// With fewer than K micro-batches the paper has no rule: the pipeline never fills, and weights' gradients may as well
/// be taken wherever a worker waits. Of the two orders the one is made that ends first where actions take the times
/// given, the fixed one where they tie: walked one by one by themselves, the fixed one is up to 7 % slower and up to 5
/// % faster for stages that take equally long (tests/schedule/walks.cpp).
pipeline_schedule zero_bubble_h1(int stages, int micro_batches, const action_times& times = {});

inline constexpr schedule_record zero_bubble_h1_record{
    .name = "zero-bubble",
    .title = "ZB-H1",
    .about = "1F1B with gradients of weights where workers would wait: ZB-H1",
    .make = [](const settings& x,
               const action_times& times) { return zero_bubble_h1(x.workers, x.micro_batches, times); },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<zero_bubble_h1<>>, for actions that take the times given.
template <class Times = action_takes<>>
struct zero_bubble_h1 : schedule::detail::one_stage_each {
    static constexpr problem check(int stages, int micro_batches) {
        const problem p = schedule::check_pipeline(stages, stages, micro_batches);
        return p ? p : schedule::check_times(Times::value);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {stages, micro_batches, rule::joint_statistics_split_backward};
    }
    static pipeline_schedule make(int stages, int micro_batches) {
        return schedule::zero_bubble_h1(stages, micro_batches, Times::value);
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/zero_bubble.inl"
#endif

#include "tessera/base/end_header.inl"
