// SPDX-License-Identifier: Apache-2.0
// log(1 + exp(x)), element by element, which neither overflows nor loses small results.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula softplus_formula =
    expression::trace([](expression::value x) { return expression::softplus(x); });
inline constexpr op_record softplus_record = expression_record("softplus", softplus_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::softplus{&op::softplus_record};

struct softplus : detail::simple_layer<op_kind::softplus> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
