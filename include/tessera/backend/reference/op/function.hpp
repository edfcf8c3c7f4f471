// SPDX-License-Identifier: Apache-2.0
// Loops of an operator that is a function of one number.
#pragma once

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

namespace detail {

/// gradient[o] = gradient[output] * derivative(value[from]).
template <class Real, class Function>
void map_gradient(const shard<Real>& s, int o, int from, Function derivative) {
    const Real* const dy = s.gradient(s.output());
    const Real* const px = s.value(from);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(s.output()), s.value_at(from), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] += dy[r.at[0] + i * r.step[0]] * derivative(px[r.at[1] + i * r.step[1]]);
        }
    });
}

} // namespace detail

/// y = value(x), dx = dy * slope(what the operator's description says that its gradient reads: x, or y). Both are functions without state.
template <class Value, class Slope>
struct function_loops {
    template <class Real>
    static void forward(const detail::shard<Real>& s, int) {
        detail::map(s, s.input(), [](Real x) { return Value{}(x); });
    }
    template <class Real>
    static void backward(const detail::shard<Real>& s, int o) {
        const int from = (s.d.operands[o].gradient_reads & bit(s.output())) != 0 ? s.output() : o;
        detail::map_gradient(s, o, from, [](Real x) { return Slope{}(x); });
    }
};

template <class Real, class Value, class Slope>
constexpr operator_row<Real> function_row(const op_record& of, Value, Slope) {
    return row_of<Real, function_loops<Value, Slope>>(of);
}
/// For an operator of one's own, whose record brings them: op_record{..., .rows = {{"reference", &these}}}.
template <class Value, class Slope>
constexpr own_rows own_function_rows(Value, Slope) {
    return own_rows_of<function_loops<Value, Slope>>();
}

} // namespace tessera::reference
