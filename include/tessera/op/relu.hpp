// SPDX-License-Identifier: Apache-2.0
// max(x, 0), element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula relu_formula =
    expression::trace([](expression::value x) { return expression::relu(x); });
inline constexpr op_record relu_record = expression_record("relu", relu_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::relu{&op::relu_record};

struct relu : detail::simple_layer<op_kind::relu> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
