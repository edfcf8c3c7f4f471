// SPDX-License-Identifier: Apache-2.0
// What the reference backend offers for an operator: a row with its loops, which stands beside them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/shard.hpp"
#include "tessera/op/records.hpp"
#include "tessera/task/row_list.hpp"

namespace tessera::reference {

/// The loops of one operator over a shard whose numbers are Real: float or double.
template <class Real>
struct operator_row {
    using number = Real;
    const op_record* of = nullptr;
    /// One nest of the forward pass, or of an evaluation.
    void (*forward)(const detail::shard<Real>&, int nest) = nullptr;
    /// The shard's contribution to the gradient of an operand, which is zero before.
    void (*backward)(const detail::shard<Real>&, int operand) = nullptr;
    bool rounds_parameters =
        false; ///< in bf16 it takes its parameters rounded, as the vendors' products and convolutions do
};

/// The row of an operator whose loops are Loops::forward(shard, nest) and Loops::backward(shard, operand), for any type
/// of numbers. They are instantiated for the numbers of the tables that take it up.
template <const op_record& Of, class Loops, bool RoundsParameters = false>
struct row {
    static constexpr const op_record& of = Of;
    static constexpr bool rounds_parameters = RoundsParameters;
    template <class Row>
    static constexpr Row value{&Of, Loops::template forward<typename Row::number>,
                               Loops::template backward<typename Row::number>, RoundsParameters};
};

/// The rows that an operator of one's own brings for this backend: op_record{..., .rows = {{"reference", &these}}}.
struct own_rows {
    operator_row<float> single;
    operator_row<double> twice;
};
template <class Loops>
constexpr own_rows own_rows_of(bool rounds_parameters = false) {
    return {{nullptr, Loops::template forward<float>, Loops::template backward<float>, rounds_parameters},
            {nullptr, Loops::template forward<double>, Loops::template backward<double>, rounds_parameters}};
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
