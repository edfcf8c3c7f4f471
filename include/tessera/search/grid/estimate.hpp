// SPDX-License-Identifier: Apache-2.0
// What a grid strategy takes in time and memory, without lowering its devices one by one: replicas are folded into one,
// repeated blocks and micro-batches into a few, and what those few say is put together again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/memory.hpp"

namespace tessera::search {

/// The estimate of a step.
struct grid_cost {
    index_t makespan = 0; ///< ns
    index_t without_updates =
        0; ///< ns until the last backward pass has ended: the rest is gradients that are still on their way
    index_t bubble = 0;               ///< ns that the busiest stage waits for others
    std::vector<index_t> stage_bytes; ///< of one device of every stage
    index_t most_bytes = 0;           ///< the largest of them
    bool fits = false;                ///< in the memory of the device with the least
};

class grid_estimator : public grid_memory {
public:
    using grid_memory::grid_memory;

    grid_cost operator()(const device_grid& x);

    /// No more than the step takes: what the busiest stage computes.
    index_t least(const device_grid& x);

private:
    /// One activity for every action of every stage, and, behind the last micro-batch's operators, for every
    /// parameter's gradients.
    void put_together(const device_grid& x, const grid_times& times, grid_cost& c);

    // ---- gradients --------------------------------------------------------------------------------------------------

    /// The last micro-batch backward, operator by operator, each followed by the sums of its parameters on the stage's
    /// links and their updates, which share its devices' engines with the computation. Returns the last operator's
    /// activity.
    int last_backward(const device_grid& x, int s, const grid_times::of_micro_batch& t,
                      std::vector<simulation::activity>& items);
    /// Half of an all-reduce in all groups of a stage at once: lanes that several groups use are busy for all of them.
    struct halves {
        int data = 0, tensor = 0, stages = 0;
        std::vector<std::vector<int>> places;
        std::vector<cost::collective_choice> offered; ///< by group
    };
    const halves& halves_for(const device_grid& x, const std::vector<std::vector<int>>& places, int stages);

    /// Time and link time of half an all-reduce of so many bytes in all groups at once.
    std::pair<index_t, index_t> half_time(const halves& h, index_t bytes);

    void add_update(const device_grid& x, const stored_parameter& h, int s, int after,
                    std::vector<simulation::activity>& items);
    std::vector<halves> halves_;
    std::vector<index_t> lane_sum_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/grid/estimate.inl"
#endif

#include "tessera/base/end_header.inl"
