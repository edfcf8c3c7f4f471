// SPDX-License-Identifier: Apache-2.0
// A constant times x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula scale_formula =
    expression::trace_with_attributes([](expression::value x, expression::value factor) { return factor * x; });
inline constexpr op_record scale_record = expression_record("scale", scale_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::scale{&op::scale_record};

template <number Factor>
struct scale : detail::expression_layer<op_kind::scale, Factor> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
