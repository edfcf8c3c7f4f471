// SPDX-License-Identifier: Apache-2.0
// A strategy whose numbers somebody else owns: what the rules and lowering read.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/configuration.hpp"
#include "tessera/strategy/pipeline_schedule.hpp"
#include "tessera/strategy/synchronization.hpp"

namespace tessera {

/// Over which samples batch normalization takes its statistics where a batch is cut into micro-batches or split over
/// devices. Running statistics follow once for every step: the whole mini-batch's (GPipe's rule: Huang et al., arXiv
/// 1811.06965, section 3.2), or the first replica's.
enum class statistics_over : std::uint8_t {
    micro_batch, ///< one device that runs the same micro-batches is the comparison
    /// All micro-batches meet in every batch norm, forward and backward, and the numbers are those of one device
    /// without micro-batches. A stage with a batch norm takes one operator after the other, each for all micro-batches,
    /// so that the next stage waits for all of them. Only for schedules whose workers finish everything forward before
    /// they go backward (GPipe); others are refused.
    mini_batch,
    /// Every shard of samples of a batch norm by itself (of each micro-batch), as under Horovod, PyTorch's DDP and
    /// HyPar-Flow: the shards exchange nothing, and one device that takes their samples one after the other is the
    /// comparison. Running statistics are kept where the shard of the first samples lies, and follow its statistics
    /// alone (DDP broadcasts the buffers of rank 0, with Horovod rank 0 saves its own).
    replica,
};

template <>
inline constexpr int value_count<statistics_over> = 3;

constexpr const char* to_text(statistics_over s) {
    constexpr const char* names[] = {"micro_batch", "mini_batch", "replica"};
    return names[static_cast<int>(s)];
}

/// A strategy whose numbers somebody else owns: one configuration for every operator.
struct strategy_view {
    const configuration* ops = nullptr;
    int count = 0;
    const index_t* pool = nullptr; ///< cut points and device lists
    index_t pool_size = 0;
    int micro_batches = 1;
    const pipeline_schedule* schedule = nullptr; ///< null: micro-batches one after the other through all stages
    statistics_over statistics = statistics_over::micro_batch;
    int parameters_on = -1;
    bool overlap = false;
    const synchronization* sync = nullptr; ///< null: every gradient by itself, sliced, as soon as it is ready
    int steps_per_plan = 1;
    bool sums_first = false;
    bool state_on_host = false;
};

/// What a strategy that is a type says of every operator, as a constant: its view, but for a schedule and messages,
/// which are made when the program runs.
template <class Strategy>
constexpr strategy_view configurations_of() {
    if constexpr (requires { Strategy::configurations(); }) {
        return Strategy::configurations();
    } else {
        return Strategy::view();
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
