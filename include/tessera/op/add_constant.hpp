// SPDX-License-Identifier: Apache-2.0
// x plus a constant.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula add_constant_formula =
    expression::trace_with_attributes([](expression::value x, expression::value by) { return x + by; });
inline constexpr op_record add_constant_record = expression_record("add_constant", add_constant_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::add_constant{&op::add_constant_record};

template <number By>
struct add_constant : detail::expression_layer<op_kind::add_constant, By> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
