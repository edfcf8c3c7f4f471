// SPDX-License-Identifier: Apache-2.0
// Two replicas in opposite directions, one mini-batch at a time: Jain et al., "GEMS" (SC 2020), MAST for two
// mini-batches, MASTER for more.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

namespace tessera::schedule {

/// Mini-batches of so many parts out of so many micro-batches.
constexpr problem check_gems(int stages, int micro_batches, int parts) {
    if (const problem p = check_pipeline(stages, parts, micro_batches)) {
        return p;
    }
    return micro_batches % parts == 0 ? problem{} : problem{rule::gems_in_parts, -1, -1, micro_batches, parts};
}

/// R mini-batches take turns between the replica whose stage i lies on worker i and the mirrored one: the second goes
/// forward down the workers that the first frees while it goes backward. Each may itself be a pipeline of `parts`
/// micro-batches in GPipe's order. One mini-batch's activations at a time, parameters twice. Takes K Tf + R K Tb +
/// Tf for one part; for P parts and Tb >= Tf, both of one part, (K+P-1) (Tf + R Tb) + (R-1) P Tf. Micro-batch r *
/// parts + j is part j of mini-batch r.
///
/// These times end with the last backward action. A plan then sums the two replicas' gradients of every stage: what an
/// exchange between its two devices takes, of which the last stage's to go backward is not hidden.
pipeline_schedule gems(int stages, int mini_batches, int parts = 1);

/// Micro-batches of a mini-batch.
inline constexpr option_row parts_option{"parts", "micro-batches of each mini-batch of GEMS", 1, 1, 65536};

inline constexpr schedule_record gems_record{
    .name = "gems",
    .title = "GEMS",
    .about = "two replicas in opposite directions, one mini-batch at a time: MAST, with parts MASTER",
    .make =
        [](const settings& x, const action_times&) {
            const int parts = x.options.as<int>(parts_option);
            require(check_gems(x.workers, x.micro_batches, parts));
            return gems(x.workers, x.micro_batches / parts, parts);
        },
    .options = {parts_option},
    .check = [](const settings& x) { return check_gems(x.workers, x.micro_batches, x.options.as<int>(parts_option)); },
    .details =
        [](const settings& x) {
            const int parts = x.options.as<int>(parts_option);
            return parts > 1 ? " in mini-batches of " + std::to_string(parts) : std::string();
        },
    .mirrors = true,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<gems<>>, with so many micro-batches in a mini-batch.
template <int Parts = 1>
struct gems : schedule::detail::one_stage_each {
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_gems(stages, micro_batches, Parts);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {stages, micro_batches, micro_batches > Parts ? rule::joint_statistics_mirrored : rule::none};
    }
    static pipeline_schedule make(int stages, int micro_batches) {
        require(check(stages, micro_batches)); // before the parts are cut off
        return schedule::gems(stages, micro_batches / Parts, Parts);
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/gems.inl"
#endif

#include "tessera/base/end_header.inl"
