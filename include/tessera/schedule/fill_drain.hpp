// SPDX-License-Identifier: Apache-2.0
// Plain model parallelism: the pipeline is filled by one micro-batch and drained before the next one enters.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

namespace tessera::schedule {

/// One micro-batch at a time through all stages, forward and backward. M K (Tf + Tb) for M micro-batches through K
/// stages, of which each works 1/K of the time; one micro-batch in flight.
pipeline_schedule fill_drain(int stages, int micro_batches = 1);

inline constexpr schedule_record fill_drain_record{
    .name = "fill-drain",
    .title = "fill-drain",
    .about = "one micro-batch at a time through all stages: plain model parallelism",
    .make = [](const settings& x, const action_times&) { return fill_drain(x.workers, x.micro_batches); },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<fill_drain>.
struct fill_drain : schedule::detail::one_stage_each {
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_pipeline(stages, stages, micro_batches);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {stages, micro_batches, micro_batches > 1 ? rule::joint_statistics_too_late : rule::none};
    }
    static pipeline_schedule make(int stages, int micro_batches) { return schedule::fill_drain(stages, micro_batches); }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/fill_drain.inl"
#endif

#include "tessera/base/end_header.inl"
