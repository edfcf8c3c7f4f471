// SPDX-License-Identifier: Apache-2.0
// Bodies of experts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/experts.hpp"

namespace tessera::host {

TESSERA_INLINE expert_job::expert_job(const bound_call& b) : c_(b.call) {
    for (int o = 0; o < 3; ++o) {
        values_[o] = reference::detail::place(c_.d->operands[o], c_.value[o].region);
        gradients_[o] = reference::detail::place(c_.d->operands[o], c_.gradient[o].region);
    }
}

TESSERA_INLINE void expert_job::run(const run_state&) {
    const interval samples = c_.ranges[0];
    for (index_t e = c_.ranges[1].begin; e < c_.ranges[1].end; ++e) {
        for (index_t n = samples.begin; n < samples.end; ++n) {
            if (is_forward(c_.what)) {
                detail::multiply_matrices(rows(input, false, n, e), weights(false, e).transposed(),
                                          rows(output, false, n, e), 1);
            } else if (has(c_.emits, input)) {
                detail::multiply_matrices(rows(output, true, n, e), weights(false, e), rows(input, true, n, e), 1);
            } else {
                detail::multiply_matrices(rows(output, true, n, e).transposed(), rows(input, false, n, e),
                                          weights(true, e), 1, n == samples.begin ? 0.0F : 1.0F);
            }
        }
    }
}

TESSERA_INLINE detail::matrix_view expert_job::rows(int o, bool gradient, index_t n, index_t e) const {
    return view(o, gradient, n, e, slot, o == input ? inputs : outputs);
}

TESSERA_INLINE detail::matrix_view expert_job::weights(bool gradient, index_t e) const {
    return view(weight, gradient, 0, e, outputs, inputs);
}

TESSERA_INLINE detail::matrix_view expert_job::view(int o, bool gradient, index_t n, index_t e, int row,
                                                    int column) const {
    const reference::detail::cursor& at = gradient ? gradients_[o] : values_[o];
    const index_t first = at.base + n * at.step[0] + e * at.step[1] + c_.ranges[row].begin * at.step[row] +
                          c_.ranges[column].begin * at.step[column];
    return {detail::floats(gradient ? c_.gradient[o].data : c_.value[o].data) + first, c_.ranges[row].size(),
            c_.ranges[column].size(), at.step[row], at.step[column]};
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
