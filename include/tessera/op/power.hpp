// SPDX-License-Identifier: Apache-2.0
// x to the power of a constant, element by element; of negative x NaN where the exponent is no whole number.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula power_formula = expression::trace_with_attributes(
    [](expression::value x, expression::value exponent) { return expression::pow(x, exponent); });
inline constexpr op_record power_record = expression_record("power", power_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::power{&op::power_record};

template <number Exponent>
struct power : detail::expression_layer<op_kind::power, Exponent> {
    static_assert(Exponent.value() != 0, "tessera: power<0> is 1 everywhere; give power<> another exponent");
};

} // namespace tessera

#include "tessera/base/end_header.inl"
