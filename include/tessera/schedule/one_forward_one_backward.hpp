// SPDX-License-Identifier: Apache-2.0
// One forward, one backward with a flush after every step: PipeDream-Flush (Narayanan et al., arXiv 2006.09503) and
// DAPPLE.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

#include <algorithm>

namespace tessera::schedule {

/// Stage i takes min(K-1-i, M) micro-batches forward, then one forward and one backward in turn, then the rest
/// backward. Idle as GPipe, but min(K-i, M) micro-batches in flight.
pipeline_schedule one_forward_one_backward(int stages, int micro_batches);

inline constexpr schedule_record one_forward_one_backward_record{
    .name = "1f1b",
    .title = "1F1B",
    .about = "one forward, one backward in turn: PipeDream-Flush, DAPPLE",
    .make = [](const settings& x, const action_times&) { return one_forward_one_backward(x.workers, x.micro_batches); },
    .plain_for_one = true,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<one_forward_one_backward>.
struct one_forward_one_backward : schedule::detail::one_stage_each {
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_pipeline(stages, stages, micro_batches);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {stages, micro_batches, micro_batches > 1 ? rule::joint_statistics_too_late : rule::none};
    }
    static pipeline_schedule make(int stages, int micro_batches);
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/one_forward_one_backward.inl"
#endif

#include "tessera/base/end_header.inl"
