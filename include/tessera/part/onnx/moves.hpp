// SPDX-License-Identifier: Apache-2.0
// What moves elements, repeats them, or puts zeros or constants beside them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/functions.hpp"

namespace tessera::onnx {

namespace nodes {

/// A shape that was computed for one sample, as one of the samples that are stood in for.
void say_samples(const call& c, const view& v, std::vector<index_t>& said);

void give_reshaped(call& c, const view& from, const std::vector<index_t>& extents);

void reshape(call& c);

inline void transpose(call& c) { c.give(c.data(0).permuted(folding::order_of(c, c.data(0).rank()))); }

/// The inputs of a Concat: tensors, and constants beside them, which are zeros to which the constants are then added.
struct joined_inputs {
    std::vector<view> tensors;
    std::vector<index_t> places; ///< where each tensor begins
    std::vector<std::pair<index_t, const constant*>> fixed;
    index_t total = 0;
};

joined_inputs inputs_to_join(const call& c, int rank, int axis);

/// A constant beside a tensor, from `first` on along an axis, as a table of those extents that is zero elsewhere.
constant table_beside(const call& c, const constant& x, const std::vector<index_t>& extents, int axis, index_t first);

/// Joins whole tensors; an operator reads at most 8.
int join(call& c, std::vector<int> reads, int axis);

void concat(call& c);

void split(call& c);

inline void slice(call& c) { c.give(part_of(c, c.data(0), folding::slices_of(c, c.data(0).extents()))); }

void pad(call& c);

void expand(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/moves.inl"
#endif

#include "tessera/base/end_header.inl"
