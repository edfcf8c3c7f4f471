// SPDX-License-Identifier: Apache-2.0
// The smaller of x and y, element by element; NaN where one is. Where they are equal, x has the gradient.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula minimum_formula =
    expression::trace([](expression::value x, expression::value y) { return expression::min(x, y); });
inline constexpr op_record minimum_record = expression_record("minimum", minimum_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::minimum{&op::minimum_record};

struct minimum : detail::simple_layer<op_kind::minimum> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
