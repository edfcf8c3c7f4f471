// SPDX-License-Identifier: Apache-2.0
// The larger of x and y, element by element; NaN where one is. Where they are equal, x has the gradient.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula maximum_formula =
    expression::trace([](expression::value x, expression::value y) { return expression::max(x, y); });
inline constexpr op_record maximum_record = expression_record("maximum", maximum_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::maximum{&op::maximum_record};

struct maximum : detail::simple_layer<op_kind::maximum> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
