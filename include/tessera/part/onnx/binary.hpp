// SPDX-License-Identifier: Apache-2.0
// Operators of two tensors, or of a tensor and a constant, element by element; and what only together is one: a GELU of
// its Erf, a causal mask.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/functions.hpp"

namespace tessera::onnx {

namespace nodes {

/// Erf(x / sqrt(2)) is 2 Phi(x) - 1: with what follows, x Phi(x), it is a GELU.
void erf(call& c);

/// Whether two constants are what keeps attention from looking ahead: 0 on and below the diagonal of the last two
/// dimensions, very small above.
bool is_causal_mask(const constant& x);

/// An operator of a tensor and a constant number.
view with_number(call& c, const std::string& type, const view& v, double x, bool number_first);

bool with_normal(call& c, const std::string& type);

/// Of a tensor and a constant, which is input `k`.
void with_constant(call& c, const std::string& type, std::size_t k);

/// x times a constant, and what is then added to it: gamma x + beta.
void times_constant(call& c, const view& v, const constant& fixed);

/// Of two tensors.
void of_tensors(call& c, const std::string& type);

/// Add, Sub, Mul, Div, Pow, Min and Max of two inputs.
void binary(call& c);

void sum(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/binary.inl"
#endif

#include "tessera/base/end_header.inl"
