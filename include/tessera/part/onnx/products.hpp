// SPDX-License-Identifier: Apache-2.0
// Products of matrices: with weights they are fully connected layers. And look-ups in tables.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/layers.hpp"

namespace tessera::onnx {

namespace nodes {

/// x times a weight [in, out], or [out, in] where it is `transposed` already, as a layer.
view fully_connected(call& c, const view& v, const constant& weight, bool transposed,
                     std::vector<parameter_source> bias);

void gemm(call& c);

/// Products of two activations: the dimensions before the last two are heads.
view product(call& c, const view& x, const view& y);

void matmul(call& c);

/// Rows of a table by integers, or one index, or a row of indices, of a tensor.
void gather(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/products.inl"
#endif

#include "tessera/base/end_header.inl"
