// SPDX-License-Identifier: Apache-2.0
// x where it is positive, else slope * x (Maas et al. 2013, "Rectifier nonlinearities improve neural network acoustic
// models").
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula leaky_relu_formula = expression::trace_with_attributes(
    [](expression::value x, expression::value slope) { return expression::select(x < 0, slope * x, x); });
inline constexpr op_record leaky_relu_record = expression_record("leaky_relu", leaky_relu_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::leaky_relu{&op::leaky_relu_record};

template <number Slope = 0.01>
struct leaky_relu : detail::expression_layer<op_kind::leaky_relu, Slope> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
