// SPDX-License-Identifier: Apache-2.0
// Where tensors, parameters and their gradients are while a plan grows: places of the network, of a micro-batch, and of
// gradients on their way to updates.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/redistribute.hpp"
#include "tessera/plan/plan.hpp"

#include <utility>

namespace tessera::lowering {

/// Where the pieces of a tensor are.
struct located {
    std::vector<piece> pieces;
    int parts = 0;
    reducer reduce = reducer::sum;
    bool summed_first = false; ///< what each device has of it has been added up there
};

/// What has been gathered of one.
struct gathered_tile {
    box region;
    int device = 0;
    int summand = -1; ///< the one part asked for, or -1 for the sum
    int tile = -1;
};
using gathered_list = std::vector<gathered_tile>;

/// What shards made of an intermediate or of its gradient, the sums of its slices where devices share that work, and
/// what was gathered of either.
struct intermediate_pieces {
    located made;
    gathered_list slices;
    gathered_list gathered;
};

/// An intermediate of an operator whose nests are tasks of their own.
struct intermediate_state {
    intermediate_pieces values;
    intermediate_pieces gradients;
};

/// By operator * max_operands + operand; one state, or one for every shard of samples where each takes its own
/// statistics.
using intermediate_list = std::vector<std::pair<int, std::vector<intermediate_state>>>;

/// What belongs to one micro-batch.
struct micro_batch_places {
    int number = 0;
    std::vector<located> values; ///< by tensor, as the three that follow
    std::vector<gathered_list> gathered_values;
    std::vector<located> gradients;
    std::vector<gathered_list> gathered_gradients;
    intermediate_list intermediates;
    std::vector<std::vector<shard>> shards;  ///< by operator
    std::vector<char> made_again;            ///< by operator: computed, or brought back, for backward
    std::vector<std::vector<piece>> waiting; ///< by tensor: in the host's memory
};

/// A parameter's tile and the copy of it on a device that does not store it.
struct parameter_copy {
    int stored = -1;
    int device = 0;
    int copy = -1;
};

/// A parameter's shard whole, gathered for one micro-batch's forward or backward.
struct whole_copy {
    int stored = -1; ///< the slice on the same device
    int micro_batch = 0;
    bool forward = true;
    int tile = -1;
};

/// Where a shard's gradients of a parameter add up over the micro-batches.
struct accumulator {
    int operand = 0;
    int shard_number = 0;
    bool mirrored = false;
    int tile = -1;
};

/// What belongs to the network and to all micro-batches of a step.
struct network_places {
    std::vector<located> inputs; ///< by tensor: values before anything is computed
    std::vector<located> parameters;
    std::vector<located> parameter_gradients;
    std::vector<parameter_copy> parameter_copies;
    std::vector<whole_copy> whole_copies;
    intermediate_list joint_intermediates;              ///< of operators whose intermediates are of all micro-batches
    std::vector<std::vector<accumulator>> accumulators; ///< by operator
    std::vector<index_t> contribution_keys;             ///< by tile: the summand of a gradient that it is, or -1
    std::vector<int> uses_left;                         ///< by parameter: until its gradient is ready
    std::vector<int> forwards_left;                     ///< by operator: until its running statistics follow
};

/// A slice of a parameter and what its update reads.
struct reduced_slice {
    int parameter = 0;
    int slice = 0;
    int slices = 1;
    std::vector<piece> copies;
    int device = 0;
    int message = -1; ///< with this and what follows: see task
    exchange method = exchange::sliced;
    std::vector<int> from{};              ///< tiles that hold the slice's summed gradient or add up to it
    int state = -1;                       ///< tile of the optimizer's state, where it is known already
    std::vector<box> counted_elsewhere{}; ///< parts of the region whose squares another group of copies counts
    int on_host = -1;                     ///< the copy of the slice in the host's memory that is updated, or none
};
/// What one task updates, of several parameters or of one.
using reduced_slices = std::vector<reduced_slice>;

/// What a step has summed whose updates come late.
struct stale_step {
    int step = 0;
    std::vector<reduced_slices> reduced;
};

/// Gradients that are ready, on their way to updates.
struct synchronization_places {
    bool holds = false;                        ///< a loss of the step has not been computed yet
    std::vector<std::pair<int, int>> deferred; ///< operator and micro-batch that have gone backward meanwhile
    std::size_t next_message = 0;
    std::vector<int> states;    ///< tiles of the optimizer's states
    std::vector<int> residuals; ///< tiles of what devices have left out of gradients
    std::vector<int> norms;
    std::vector<std::vector<int>> layer_norms; ///< by parameter
    std::vector<reduced_slices> reduced;
    reduced_slices stepped;                                   ///< on the host, to be brought up
    std::vector<int> host_parameters;                         ///< tiles of the host's copies of slices
    std::vector<stale_step> stale;                            ///< the oldest first
    std::vector<std::pair<int, int>> sum_tiles;               ///< of a copy's tile
    std::vector<std::pair<std::vector<int>, int>> local_sums; ///< of contributions
    std::vector<std::pair<int, std::vector<piece>>> averaged; ///< parameters whose copies differ in this step
};

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
