// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B: every worker has several stages. Narayanan et al., "Efficient large-scale language model training
// on GPU clusters using Megatron-LM" (SC 2021), section 2.2.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/record.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

#include <algorithm>

namespace tessera::schedule {

constexpr problem check_interleaved(int workers, int chunks, int micro_batches) {
    if (const problem p = check_pipeline(workers, chunks, micro_batches)) {
        return p;
    }
    return micro_batches % workers == 0 ? problem{}
                                        : problem{rule::interleaved_in_groups, -1, -1, micro_batches, workers};
}

/// Stage c * workers + w is chunk c of worker w; micro-batches pass through the chunks in groups of as many as there
/// are workers, so that their number must divide by it. Idle over busy time (K-1)/(V M) for V chunks.
///
/// With M = K Megatron-LM's schedules.py of the paper's time takes everything forward before anything backward. Here
/// the general rule holds there too: the same time where stages take equally long, less where they do not (up to 12 %
/// where they differ by half), and fewer chunks in flight.
pipeline_schedule interleaved(int workers, int chunks, int micro_batches);

/// Stages of every worker.
inline constexpr option_row chunks_option{"chunks", "stages of every worker of an interleaved pipeline", 2, 1, 1024};

inline constexpr schedule_record interleaved_record{
    .name = "interleaved",
    .title = "interleaved 1F1B",
    .about = "1F1B with several stages on every worker: Megatron-LM",
    .make =
        [](const settings& x, const action_times&) {
            return interleaved(x.workers, x.options.as<int>(chunks_option), x.micro_batches);
        },
    .options = {chunks_option},
    .check =
        [](const settings& x) {
            return check_interleaved(x.workers, x.options.as<int>(chunks_option), x.micro_batches);
        },
    .stages = [](const settings& x) { return x.workers * x.options.as<int>(chunks_option); },
    .details =
        [](const settings& x) { return ", " + std::to_string(x.options.as<int>(chunks_option)) + " chunks each"; },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: pipeline<interleaved<2>>, with so many stages of every worker.
template <int Chunks>
struct interleaved {
    static constexpr int workers([[maybe_unused]] int stages) {
        if constexpr (Chunks > 0) {
            return stages / Chunks;
        } else {
            return 1; // check() refuses it
        }
    }
    static constexpr problem check(int stages, int micro_batches) {
        return schedule::check_interleaved(workers(stages), Chunks, micro_batches);
    }
    static constexpr schedule_facts facts(int stages, int micro_batches) {
        return {workers(stages) * Chunks, micro_batches,
                micro_batches > 1 ? rule::joint_statistics_too_late : rule::none};
    }
    static constexpr int worker_of(int stage, int stages) { return stage % workers(stages); }
    static pipeline_schedule make(int stages, int micro_batches) {
        return schedule::interleaved(workers(stages), Chunks, micro_batches);
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/interleaved.inl"
#endif

#include "tessera/base/end_header.inl"
