// SPDX-License-Identifier: Apache-2.0
// Bodies of operators.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/operators.hpp"

namespace tessera::torch {

TESSERA_INLINE operator_row row_of(const op_attributes& a) {
    for (const detail::named_row& r : detail::rows) {
        if (r.kind == a.kind) {
            return r.row;
        }
    }
    const op_record& r = record_of(a);
    return r.formula != nullptr     ? operator_row{detail::formula_line}
           : r.generated != nullptr ? operator_row{detail::nest_line, detail::nest_pass_line}
                                    : operator_row{};
}

TESSERA_INLINE bool takes_rounded_parameters(const op_attributes& a) {
    return a.kind == op_kind::conv2d || a.kind == op_kind::conv3d || a.kind == op_kind::linear;
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
