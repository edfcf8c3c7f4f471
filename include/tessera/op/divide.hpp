// SPDX-License-Identifier: Apache-2.0
// x / y, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula divide_formula =
    expression::trace([](expression::value x, expression::value y) { return x / y; });
inline constexpr op_record divide_record = expression_record("divide", divide_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::divide{&op::divide_record};

struct divide : detail::simple_layer<op_kind::divide> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
