// SPDX-License-Identifier: Apache-2.0
// What is computed of constants and extents while the network is made: parts of constants, and other extents.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold.hpp"

namespace tessera::onnx {

namespace folding {

constant gather(const constant& from, const constant& index, int axis);

constant concat(const call& c, int axis);

constant slice(const constant& from, const std::vector<span_of>& spans);

constant range(const call& c);

/// Extents with, or without, extents of 1 at some places.
std::vector<index_t> squeezed(const call& c, const std::vector<index_t>& have);
std::vector<index_t> unsqueezed(const call& c, const std::vector<index_t>& have);
/// The two dimensions of Flatten.
std::vector<index_t> flattened(const call& c, const std::vector<index_t>& have);
/// The order of Transpose: the other way round where it is not said.
std::vector<int> order_of(const call& c, int rank);

} // namespace folding

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/fold_shapes.inl"
#endif

#include "tessera/base/end_header.inl"
