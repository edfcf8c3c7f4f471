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
