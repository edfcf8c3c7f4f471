// SPDX-License-Identifier: Apache-2.0
// Sigmoid and swish of straight lines (Howard et al. 2019, "Searching for MobileNetV3", arXiv 1905.02244): as PyTorch's
// Hardsigmoid and Hardswish.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula hard_sigmoid_formula = expression::trace(
    [](expression::value x) { return expression::select(x <= -3, 0, expression::select(x >= 3, 1, (x + 3) / 6)); });
inline constexpr op_record hard_sigmoid_record = expression_record("hard_sigmoid", hard_sigmoid_formula);
inline constexpr expression::formula hard_swish_formula = expression::trace(
    [](expression::value x) { return expression::select(x <= -3, 0, expression::select(x >= 3, x, x * (x + 3) / 6)); });
inline constexpr op_record hard_swish_record = expression_record("hard_swish", hard_swish_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::hard_sigmoid{&op::hard_sigmoid_record};
inline constexpr op_kind op_kind::hard_swish{&op::hard_swish_record};

/// (x + 3) / 6, from 0 to 1.
struct hard_sigmoid : detail::simple_layer<op_kind::hard_sigmoid> {};
/// x times that.
struct hard_swish : detail::simple_layer<op_kind::hard_swish> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
