// SPDX-License-Identifier: Apache-2.0
// |x|, element by element; the gradient at 0 is 0.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula abs_formula =
    expression::trace([](expression::value x) { return expression::abs(x); });
inline constexpr op_record abs_record = expression_record("abs", abs_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::abs{&op::abs_record};

struct abs : detail::simple_layer<op_kind::abs> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
