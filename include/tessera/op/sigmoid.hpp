// SPDX-License-Identifier: Apache-2.0
// 1 / (1 + exp(-x)), element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula sigmoid_formula =
    expression::trace([](expression::value x) { return expression::sigmoid(x); });
inline constexpr op_record sigmoid_record = expression_record("sigmoid", sigmoid_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::sigmoid{&op::sigmoid_record};

struct sigmoid : detail::simple_layer<op_kind::sigmoid> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
