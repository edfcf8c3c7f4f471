// SPDX-License-Identifier: Apache-2.0
// What an operator that only moves elements does in a shard, as nested loops with a stride in each of two dense arrays.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/analysis.hpp"

namespace tessera {

/// From one array to another. The first `kept` loops give every element of the target that is written once; what the
/// others run over is added up.
struct element_move {
    int loops = 0;
    int kept = 0;
    index_t count[max_loops]{};
    index_t from[max_loops]{}; ///< strides, negative where elements change their direction, 0 where they are repeated
    index_t to[max_loops]{};
    index_t from_start = 0;
    index_t to_start = 0;

    /// Elements of the target that are written.
    index_t written() const;
    /// How many are added up for each of them.
    index_t summed() const;
    bool is_empty() const { return written() * summed() == 0; }
    /// Whether it is one copy of adjacent elements.
    bool is_dense() const { return loops == 0 || (loops == 1 && kept == 1 && from[0] == 1 && to[0] == 1); }
};

namespace detail {

/// The distance in a dense array over `region` that a step of each loop makes, and the place of the loops' begin.
struct strides_of {
    index_t start = 0;
    index_t step[max_loops]{};

    strides_of(const operand& o, const box& region, const interval* ranges);
};

/// Leaves out the points at which an index of one loop is outside its tensor.
void clip(const operand& o, interval* ranges);

constexpr index_t distance(index_t stride) { return stride < 0 ? -stride : stride; }

/// Loops [first, last) from the longest stride to the shortest, those that go on where the next inner one ends being
/// one with it.
void join_loops(element_move& m, int first, int last, const index_t* by);

} // namespace detail

/// The move from operand `from`, of which an array over `from_region` is at hand, to operand `to`, over `to_region`:
/// forward from an input to the output, backward from the output's gradient to an input's. Indices of several loops
/// must lie inside their tensors.
element_move move_between(const description& d, int from, const box& from_region, int to, const box& to_region,
                          const interval* shard);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/task/element_move.inl"
#endif

#include "tessera/base/end_header.inl"
