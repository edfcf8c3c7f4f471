// SPDX-License-Identifier: Apache-2.0
// A plan as a program for torch.distributed, before it is text: what moves between ranks, where parameters live, the
// local lines of every rank, the order of a pipeline's actions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/strategy/pipeline_schedule.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera::torch {

/// A region of a tensor on a rank; `tile` is the plan's.
struct located_tile {
    int rank = 0;
    box region;
    int tile = -1;
};

/// `region` of a source is copied, or added, into a target.
struct box_move {
    int from = 0; ///< among the sources
    int to = 0;   ///< among the targets
    box region;
};

/// One redistribution of a tensor: what the ranks have of it, what they need of it, and the boxes that move. Forward a
/// target is the sum of the boxes that come to it; backward the gradients of the same boxes go the other way and are
/// added up, so that each rank holds its share of every gradient.
struct exchange_table {
    std::string name;
    std::string kind;     ///< "take", of an input of the network; otherwise what the moves amount to, such as "halo"
    std::string input;    ///< that is taken
    bool largest = false; ///< the larger of numbers instead of their sum
    bool differentiable = true; ///< gradients come back
    int from_stage = 0;
    int to_stage = 0;
    std::vector<located_tile> sources, targets;
    std::vector<box_move> moves;

    bool moves_between_ranks() const;
};

/// A parameter, or running state, and the regions of it that ranks hold.
struct parameter_table {
    std::string name;
    shape extents;
    bool trained = true;
    double rate = 1;  ///< factor of the learning rate
    double decay = 0; ///< weight decay
    std::vector<located_tile> homes;
};

/// What a dropout drops, by places in the whole tensor.
struct dropout_table {
    std::string name;
    int number = 0; ///< of the operator, which its random numbers depend on
    index_t percent = 0;
    std::string unit;
    shape extents;
    std::vector<located_tile> shards;
};

/// Slice `slice` of `slices` of a parameter's elements.
struct bucket_part {
    std::string parameter;
    int slice = 0;
    int slices = 1;
};

/// Gradients that are summed together.
struct bucket_table {
    std::string how;
    int server = 0;
    std::vector<bucket_part> parts;
};

/// What a step was when the program was written, on check_batch() of the runtime file.
struct recorded_step {
    double loss = 0;
    std::vector<std::pair<std::string, double>> norms; ///< of every trained parameter's gradient, before it is clipped
};

struct input_table {
    std::string name;
    shape extents;
    element type = element::f32;
    index_t integers = 0; ///< how many values they have
};

struct program {
    int ranks = 1;
    index_t batch = 1;
    int micro_batches = 1;
    std::uint64_t seed = 0;
    optimizer update;
    std::vector<input_table> inputs;
    std::vector<parameter_table> parameters;
    std::vector<exchange_table> exchanges;
    std::vector<dropout_table> dropouts;
    std::vector<bucket_table> buckets;
    /// By stage and rank the lines of its forward pass; none where the rank takes no part in it.
    std::vector<std::map<int, std::vector<std::string>>> stages;
    std::vector<char> recomputes; ///< by stage
    /// By stage the parameters of which ranks keep slices (ZeRO stage 3); none where all are whole.
    std::vector<std::vector<std::string>> gathers;
    std::vector<recorded_step> check;
    std::string unchecked;         ///< why there are none
    double within = 1e-4;          ///< how far losses may be off
    std::uint32_t weights_crc = 0; ///< of the file of weights that they began with
    std::vector<action> actions;   ///< of all ranks, in an order that each of them keeps
};

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/program.inl"
#endif

#include "tessera/base/end_header.inl"
