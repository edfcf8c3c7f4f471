// SPDX-License-Identifier: Apache-2.0
// e to the power of x, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula exp_formula =
    expression::trace([](expression::value x) { return expression::exp(x); });
inline constexpr op_record exp_record = expression_record("exp", exp_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::exp{&op::exp_record};

struct exp : detail::simple_layer<op_kind::exp> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
