// SPDX-License-Identifier: Apache-2.0
// The natural logarithm, element by element; of negative numbers NaN.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula log_formula =
    expression::trace([](expression::value x) { return expression::log(x); });
inline constexpr op_record log_record = expression_record("log", log_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::log{&op::log_record};

struct log : detail::simple_layer<op_kind::log> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
