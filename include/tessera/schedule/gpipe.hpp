// SPDX-License-Identifier: Apache-2.0
// All forward, then all backward: Huang et al., "GPipe" (arXiv 1811.06965), section 2.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

namespace tessera::schedule {

/// All micro-batches forward, then all backward, the last one first. Idle share (K-1)/(M+K-1), M micro-batches in
/// flight everywhere.
pipeline_schedule gpipe(int stages, int micro_batches, rematerialize which = rematerialize::except_last);

inline constexpr schedule_record gpipe_record{
    .name = "gpipe",
    .title = "GPipe",
    .about = "all forward, then all backward",
    .make = [](const settings& x, const action_times&) { return gpipe(x.workers, x.micro_batches); },
    .plain_for_one = true,
    .last_returns_first = true,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<gpipe>.
struct gpipe : schedule::detail::one_stage_each {
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_pipeline(stages, stages, micro_batches);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) { return {stages, micro_batches, rule::none}; }
    static pipeline_schedule make(int stages, int micro_batches) { return schedule::gpipe(stages, micro_batches); }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/gpipe.inl"
#endif

#include "tessera/base/end_header.inl"
