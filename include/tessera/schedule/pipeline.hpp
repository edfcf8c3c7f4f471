// SPDX-License-Identifier: Apache-2.0
// What the schedules' files share: an empty schedule of a checked size, taking turns, re-materialization, and which
// worker has which stage.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/problem_text.hpp"
#include "tessera/strategy/schedule_rules.hpp"

namespace tessera::schedule {

/// The rule that a pipeline without workers, stages or micro-batches breaks.
constexpr problem check_pipeline(int workers, int stages, int micro_batches) {
    for (const int n : {workers, stages, micro_batches}) {
        if (n < 1) {
            return {rule::pipeline_is_empty, -1, -1, n, 1};
        }
    }
    return {};
}

/// A schedule without actions. Throws tessera::error where there is no worker, stage or micro-batch.
pipeline_schedule empty_schedule(int workers, int stages, int micro_batches);

/// `ahead` times forward, then forward and backward in turn, then the rest backward: forward(k) and backward(k) are
/// called for k from 0 to count - 1 in this order. What 1F1B, its interleaved form and ZB-H1 have in common.
template <class Forward, class Backward>
void take_turns(int count, int ahead, const Forward& forward, const Backward& backward) {
    for (int k = 0; k < count + ahead; ++k) {
        if (k < count) {
            forward(k);
        }
        if (k >= ahead) {
            backward(k - ahead);
        }
    }
}

/// Which micro-batches recompute what their operators say they recompute (torchgpipe's names for GPipe's checkpoints).
enum class rematerialize : std::uint8_t {
    none,
    all,
    except_last, ///< the last micro-batch goes backward at once: it would gain nothing
};

constexpr const char* to_text(rematerialize which) {
    constexpr const char* names[] = {"none", "all", "except last"};
    return names[static_cast<int>(which)];
}

/// Says for every micro-batch whether it keeps its results although operators recompute.
void keep_results(pipeline_schedule& s, rematerialize which);

/// The worker of every stage, where micro-batches are not mirrored; -1 for a stage without actions. Throws
/// tessera::error for an action of a stage or micro-batch that the schedule does not have.
std::vector<int> workers_of_stages(const pipeline_schedule& s);

} // namespace tessera::schedule

#ifndef TESSERA_COMPILED
#include "tessera/schedule/pipeline.inl"
#endif

#include "tessera/base/end_header.inl"
