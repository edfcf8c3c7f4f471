// SPDX-License-Identifier: Apache-2.0
// Normalizations, softmax and reductions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/functions.hpp"

namespace tessera::onnx {

namespace nodes {

/// Gamma and beta of `count` numbers each.
std::vector<parameter_source> gamma_and_beta(const call& c, index_t count);

void batch_norm(call& c);

void layer_norm(call& c);

void image_norm(call& c);

void softmax(call& c);

/// Reductions over some dimensions: what stays is the first group, what goes the second.
void reduce(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/norms.inl"
#endif

#include "tessera/base/end_header.inl"
