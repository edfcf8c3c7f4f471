// SPDX-License-Identifier: Apache-2.0
// x rounded to the nearest whole number, of two the even one, with the gradient of x (Bengio et al. 2013, arXiv
// 1308.3432).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula straight_through_round_formula = expression::trace([](expression::value x) {
    const expression::value below = expression::floor(x);
    const expression::value rest = x - below;
    const expression::condition odd = expression::floor(below / 2) * 2 != below;
    return expression::straight_through(expression::select(rest > 0.5 || (rest == 0.5 && odd), below + 1, below), x);
});
inline constexpr op_record straight_through_round_record =
    expression_record("straight_through_round", straight_through_round_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::straight_through_round{&op::straight_through_round_record};

struct straight_through_round : detail::simple_layer<op_kind::straight_through_round> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
