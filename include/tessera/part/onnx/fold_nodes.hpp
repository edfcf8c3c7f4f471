// SPDX-License-Identifier: Apache-2.0
// Which nodes are computed while the network is made: see fold.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold_shapes.hpp"

namespace tessera::onnx {

namespace folding {

constant shape_of(const call& c);

constant constant_node(const call& c);

constant constant_of_shape(const call& c);

constant trilu(const call& c);

constant where(const call& c);

/// Rows of a constant that are replaced.
constant scatter(const call& c);

} // namespace folding

/// Computes a node of constants, or of a shape; false where it is an operator of the network. Throws cannot_say.
bool fold(call& c);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/fold_nodes.inl"
#endif

#include "tessera/base/end_header.inl"
