// SPDX-License-Identifier: Apache-2.0
// x * sigmoid(x), element by element (Hendrycks and Gimpel 2016; Ramachandran et al. 2017, "Searching for activation
// functions").
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula silu_formula =
    expression::trace([](expression::value x) { return x * expression::sigmoid(x); });
inline constexpr op_record silu_record = expression_record("silu", silu_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::silu{&op::silu_record};

struct silu : detail::simple_layer<op_kind::silu> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
