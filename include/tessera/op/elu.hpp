// SPDX-License-Identifier: Apache-2.0
// x where it is positive, else alpha * (exp(x) - 1) (Clevert et al. 2016, arXiv 1511.07289).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula elu_formula =
    expression::trace_with_attributes([](expression::value x, expression::value alpha) {
        const expression::value e = expression::exp(x);
        const expression::value less_one = expression::straight_through(
            expression::tanh(x / 2) * (e + 1), e); // e - 1, which loses nothing where x is small
        return expression::select(x <= 0, alpha * less_one, x);
    });
inline constexpr op_record elu_record = expression_record("elu", elu_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::elu{&op::elu_record};

template <number Alpha = 1>
struct elu : detail::expression_layer<op_kind::elu, Alpha> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
