// SPDX-License-Identifier: Apache-2.0
// Options of lowering, and what it remembers of tensors, parameters and micro-batches while a plan grows.
#pragma once

#include "tessera/layout/redistribute.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/plan/plan.hpp"

#include <string>
#include <utility>

namespace tessera {

struct lower_options {
    run_kind kind = run_kind::training;
    optimizer update;            ///< how many states a parameter has, and whether gradients are clipped
    bool keep_gradients = false; ///< gradients stay readable after the run
    bool allow_empty = false;    ///< a short batch may leave some shards without samples
    /// An input that holds the gradient of the last operator's output; inputs then get gradients too, and these and the output are
    /// results of the plan. It lets a network without a loss go backward. -1: none.
    int output_gradient = -1;
};

namespace detail {

/// A tensor while the plan grows: where its pieces are, and what has been gathered from them.
struct located {
    std::vector<piece> pieces;
    int parts = 0;
    reducer reduce = reducer::sum;
};

struct gathered_tile {
    box region;
    int device = 0;
    int part = -1; ///< the one part asked for, or -1 for the sum
    int tile = -1;
};

/// A parameter's tile and the copy of it on a device that does not store it.
struct parameter_copy {
    int stored = -1;
    int device = 0;
    int copy = -1;
};

/// What shards made of an intermediate or of its gradient, the sums of its slices where devices share that work, and what was gathered of either.
struct intermediate_pieces {
    located made;
    std::vector<gathered_tile> slices;
    std::vector<gathered_tile> gathered;
};

/// An intermediate of an operator whose nests are tasks of their own.
struct intermediate_state {
    intermediate_pieces values;
    intermediate_pieces gradients;
};

/// By operator * max_operands + operand; one state, or one for every shard of samples where each takes its own statistics.
using intermediate_list = std::vector<std::pair<int, std::vector<intermediate_state>>>;

/// A slice of a parameter and what its update reads.
struct reduced_slice {
    int parameter = 0;
    int slice = 0;
    int slices = 1;
    std::vector<piece> copies;
    int device = 0;
    int message = -1; ///< with this and what follows: see task
    exchange how = exchange::sliced;
    std::vector<int> from{}; ///< tiles that hold the slice's summed gradient or add up to it
};

/// A parameter's shard whole, gathered for one micro-batch's forward or backward.
struct whole_copy {
    int stored = -1; ///< the slice on the same device
    int micro_batch = 0;
    bool forward = true;
    int tile = -1;
};

/// A piece of a message for the copies of one region.
struct sent_piece {
    gradient_slice what;
    std::vector<piece> copies;
    std::vector<int> sources; ///< contributions, those of one device added up
};

/// What one task sums of a piece, and the tiles that it writes the sum to.
struct message_sum {
    const sent_piece* of = nullptr;
    std::vector<int> from;
    std::vector<int> to;
};

/// The message that is being lowered.
struct sending_state {
    exchange how = exchange::sliced;
    int message = -1;
    int server = 0;
};

/// What belongs to one micro-batch while the plan grows, as long as another one is at hand.
struct micro_batch_state {
    std::vector<located> values;
    std::vector<std::vector<gathered_tile>> gathered_values;
    std::vector<located> gradients;
    std::vector<std::vector<gathered_tile>> gathered_gradients;
    intermediate_list intermediates;
    std::vector<std::vector<shard>> shards;
    std::vector<char> recomputed; ///< by stage
    interval samples;
};

/// Where a shard's gradients of a parameter add up over the micro-batches.
struct accumulator {
    int operand = 0;
    int shard_number = 0;
    bool mirrored = false;
    int tile = -1;
};

/// Which gradients a step backward makes.
enum class backward_part : std::uint8_t { all, input, weight };

} // namespace detail

} // namespace tessera
