// SPDX-License-Identifier: Apache-2.0
// What a device of every stage of a grid needs of its memory, from the arenas of plans of a few blocks and
// micro-batches.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/memory.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/grid/times.hpp"

namespace tessera::search {

namespace detail {

/// One stage in which so many micro-batches go forward before the first goes backward, and then one for each.
pipeline_schedule forward_ahead(int micro_batches, int ahead);

} // namespace detail

class grid_memory : public grid_timer {
public:
    using grid_timer::grid_timer;

    /// Bytes of one device of every stage: parameters, their gradients, the optimizer's state (which replicas share),
    /// and what lives at the same time, extrapolated from plans of one and two blocks with one and two micro-batches in
    /// flight.
    std::vector<index_t> memory(const device_grid& x);

private:
    /// Bytes of an arena: with one block and one micro-batch in flight, and what another block, micro-batch, and block
    /// of one adds.
    struct arena_model {
        index_t one = 0, block = 0, micro_batch = 0, both = 0;
        index_t at(index_t blocks, index_t in_flight) const;
    };
    struct memory_model {
        index_t samples = 0;
        int micro_batches = 0;
        bool apart = false;
        std::vector<configuration> ops;
        arena_model part[3]; ///< of the blocks, and, where they are kept apart, of what stands before and behind
    };
    /// Parameters and the optimizer's state on a device of a stage, which all that hold the same share.
    index_t persistent(const device_grid& x, int s);

    const memory_model& memory_of(const device_grid& x);

    /// The largest arena of a stage of so many blocks with so many micro-batches in flight, as 1F1B has them; where
    /// there are several stages, what stands before the blocks and behind them is put on devices of its own.
    void arenas(const device_grid& x, int blocks, int in_flight, index_t* bytes) const;

    std::vector<memory_model> memories_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/grid/memory.inl"
#endif

#include "tessera/base/end_header.inl"
