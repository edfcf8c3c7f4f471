// SPDX-License-Identifier: Apache-2.0
// The square root, element by element; of negative numbers NaN.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula sqrt_formula =
    expression::trace([](expression::value x) { return expression::sqrt(x); });
inline constexpr op_record sqrt_record = expression_record("sqrt", sqrt_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::sqrt{&op::sqrt_record};

struct sqrt : detail::simple_layer<op_kind::sqrt> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
