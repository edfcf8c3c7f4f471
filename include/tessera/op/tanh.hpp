// SPDX-License-Identifier: Apache-2.0
// The hyperbolic tangent, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula tanh_formula =
    expression::trace([](expression::value x) { return expression::tanh(x); });
inline constexpr op_record tanh_record = expression_record("tanh", tanh_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::tanh{&op::tanh_record};

struct tanh : detail::simple_layer<op_kind::tanh> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
