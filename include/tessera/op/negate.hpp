// SPDX-License-Identifier: Apache-2.0
// -x, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula negate_formula = expression::trace([](expression::value x) { return -x; });
inline constexpr op_record negate_record = expression_record("negate", negate_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::negate{&op::negate_record};

struct negate : detail::simple_layer<op_kind::negate> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
