// SPDX-License-Identifier: Apache-2.0
// What works element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/part/onnx/layers.hpp"

namespace tessera::onnx {

namespace nodes {

op_attributes with_numbers(op_kind kind, double first, double second = 0);

/// A function of one number, of a view: of its tensor, and the same view of what comes of it.
view applied(call& c, const view& v, const op_attributes& a, const std::string& part = "");
view applied(call& c, const view& v, op_kind kind, const std::string& part = "");

inline void function(call& c, op_kind kind) { c.give(applied(c, c.data(0), kind)); }

/// Two views as tensors whose dimensions are in one order, the samples first, and that order.
std::vector<int> aligned(call& c, view& x, view& y);

/// An operator of two tensors, which are broadcast.
view combined(call& c, view x, view y, op_kind kind, const std::string& part = "");

/// factor * x + offset where it is a tensor that was scaled: what the tensor was before, for patterns.
view before_scale(const call& c, const view& v, double& factor);

inline bool same_view(const view& a, const view& b) { return a.node == b.node && a.dims == b.dims; }
inline bool is_near(double a, double b) { return std::abs(a - b) < 1e-4 * std::abs(b); }

void clip(call& c);

void gelu(call& c);

void hard_sigmoid(call& c);

/// max(x, 0) + slope min(x, 0), a slope for each channel.
void prelu(call& c);

void dropout(call& c);

void cast(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/functions.inl"
#endif

#include "tessera/base/end_header.inl"
