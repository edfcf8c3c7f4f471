// SPDX-License-Identifier: Apache-2.0
// What tells the plans of one session apart.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/prediction.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {

/// How many plans a session keeps ready besides the one for training on full batches: one for each size of batch and
/// kind of run. Of more, the one that has not run for the longest time goes, and is made again when it is wanted.
inline constexpr std::size_t most_ready_plans = 8;

namespace detail {

struct batch_size {
    index_t samples = 0;
    index_t length = 0; ///< of sequences, in a network of any length; else 0

    friend bool operator==(const batch_size&, const batch_size&) = default;
};

struct run_key {
    batch_size size;
    run_kind kind = run_kind::training;
    int steps_per_plan = 1;                   ///< steps of one run
    const prediction_setting* part = nullptr; ///< null: the whole network

    friend bool operator==(const run_key&, const run_key&) = default;
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
