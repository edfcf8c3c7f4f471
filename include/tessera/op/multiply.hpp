// SPDX-License-Identifier: Apache-2.0
// x * y, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula multiply_formula =
    expression::trace([](expression::value x, expression::value y) { return x * y; });
inline constexpr op_record multiply_record = expression_record("multiply", multiply_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::multiply{&op::multiply_record};

struct multiply : detail::simple_layer<op_kind::multiply> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
