// SPDX-License-Identifier: Apache-2.0
// Which nodes are computed while the network is made: see fold.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold_shapes.hpp"

#include <optional>

namespace tessera::onnx {

namespace folding {

constant shape_of(const call& c);

constant constant_node(const call& c);

constant constant_of_shape(const call& c);

constant trilu(const call& c);

constant where(const call& c);

/// Rows of a constant that are replaced.
constant scatter(const call& c);

/// Numbers computed of numbers; nothing if the node is another.
std::optional<constant> arithmetic(const call& c, const constant& x);

/// Numbers in other places or of another shape; nothing if the node is another.
std::optional<constant> rearranged(const call& c, const constant& x);

/// What is made of a shape or chosen by other constants; nothing if the node is another.
std::optional<constant> assembled(const call& c, const constant& x);

} // namespace folding

/// Computes a node of constants, or of a shape; false where it is an operator of the network. Throws cannot_say.
bool fold(call& c);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/fold_nodes.inl"
#endif

#include "tessera/base/end_header.inl"
