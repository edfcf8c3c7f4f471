// SPDX-License-Identifier: Apache-2.0
// x, or the nearer of two constants where it is outside of them; no gradient flows to what is outside.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera::op {

inline constexpr expression::formula clamp_formula =
    expression::trace_with_attributes([](expression::value x, expression::value least, expression::value most) {
        return expression::clamp(x, least, most);
    });
inline constexpr op_record clamp_record = expression_record("clamp", clamp_formula);

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::clamp{&op::clamp_record};

template <number Least, number Most>
struct clamp : detail::expression_layer<op_kind::clamp, Least, Most> {
    static_assert(Least.value() <= Most.value(), "tessera: clamp<least, most>: the first bound is above the second");
};

} // namespace tessera

#include "tessera/base/end_header.inl"
