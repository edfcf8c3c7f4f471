// SPDX-License-Identifier: Apache-2.0
// x, through which no gradient flows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula stop_gradient_formula =
    expression::trace([](expression::value x) { return expression::stop_gradient(x); });
inline constexpr op_record stop_gradient_record = expression_record("stop_gradient", stop_gradient_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::stop_gradient{&op::stop_gradient_record};

struct stop_gradient : detail::simple_layer<op_kind::stop_gradient> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
