// SPDX-License-Identifier: Apache-2.0
// Training runs that somebody measured, from tables: which network, on how many devices, how divided, how long a step
// took; and the plans that predict them.
#pragma once

#include "examples/zoo/families.hpp"

#include "tessera/simulate/calibrate.hpp"
#include "tessera/strategy/strategy.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace networks {

/// A run of a GPT in data parallelism with sharded parameters.
struct measured_run {
    std::string model;
    family_sizes network;
    std::string gpu; ///< as the table says it; "" where it does not
    int gpus = 1;
    std::string precision;           ///< the same
    tessera::index_t micro = 1;      ///< samples of a device at a time ...
    tessera::index_t times = 1;      ///< ... so many times a step
    int zero = 3;                    ///< stage
    bool recomputes = false;         ///< whole blocks
    double nanoseconds = 0;          ///< of a step
    tessera::index_t parameters = 0; ///< 0: the table does not say
};

/// The runs of a table of comma-separated values with a line of names of columns: model, layers, width, heads, vocab,
/// ffn, seq, gpus, precision (fp32, tf32, bf16, fp16, fp8), micro_batch, accumulation, sharding (FULL_SHARD or
/// SHARD_GRAD_OP), recompute (none or full), and tokens_per_s_gpu or step_ms; gpu and params may be there. Throws tessera::error, naming line and column, for what is missing or means nothing.
std::vector<measured_run> runs_from_text(std::string_view text, const std::string& called);
std::vector<measured_run> read_runs(const std::string& path);

/// "mpt-7b, 2048 positions, 8 x h100_80gb, 6 x 1"
std::string to_text(const measured_run& r);

/// A run's network and strategy with so many layers and micro-batches.
struct run_plan {
    tessera::graph network;
    tessera::strategy how;
};
run_plan plan_of(const measured_run& r, int layers, tessera::index_t times);

/// What predicts a run on a machine, whose first devices it takes: all of it, or (usually) plans of 2 and 4 layers and
/// of 1 and 2 micro-batches: every further block and micro-batch takes as long as the second.
tessera::simulation::measured_step step_of(const measured_run& r, const tessera::device_graph& on, bool whole = false);

/// Bytes on the device that has most, by plans of 2 and 4 layers and at most 2 micro-batches, or of all.
tessera::index_t memory_of(const measured_run& r, const tessera::device_graph& on, bool whole = false);

} // namespace networks
