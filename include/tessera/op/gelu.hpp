// SPDX-License-Identifier: Apache-2.0
// x times the normal distribution function of x (Hendrycks and Gimpel 2016), element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula gelu_formula =
    expression::trace([](expression::value x) { return x * normal(x); });
inline constexpr op_record gelu_record = expression_record("gelu", gelu_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::gelu{&op::gelu_record};

/// x * Phi(x), with the normal distribution function itself, not an approximation.
struct gelu : detail::simple_layer<op_kind::gelu> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
