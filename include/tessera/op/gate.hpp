// SPDX-License-Identifier: Apache-2.0
// An activation of one input times the other: the middle of gated feed-forward networks (Shazeer 2020, "GLU Variants
// Improve Transformer"), as one expression.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula silu_gate_formula =
    expression::trace([](expression::value gate, expression::value x) { return gate * expression::sigmoid(gate) * x; });
inline constexpr op_record silu_gate_record = expression_record("silu_gate", silu_gate_formula);

inline constexpr expression::formula gelu_gate_formula =
    expression::trace([](expression::value gate, expression::value x) { return gate * normal(gate) * x; });
inline constexpr op_record gelu_gate_record = expression_record("gelu_gate", gelu_gate_formula);

inline constexpr expression::formula relu_gate_formula =
    expression::trace([](expression::value gate, expression::value x) { return expression::relu(gate) * x; });
inline constexpr op_record relu_gate_record = expression_record("relu_gate", relu_gate_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::silu_gate{&op::silu_gate_record};
inline constexpr op_kind op_kind::gelu_gate{&op::gelu_gate_record};
inline constexpr op_kind op_kind::relu_gate{&op::relu_gate_record};

/// silu(gate) * x, of two inputs: the gate comes first.
struct silu_gate : detail::simple_layer<op_kind::silu_gate> {};
/// gelu(gate) * x.
struct gelu_gate : detail::simple_layer<op_kind::gelu_gate> {};
/// relu(gate) * x.
struct relu_gate : detail::simple_layer<op_kind::relu_gate> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
