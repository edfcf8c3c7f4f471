// SPDX-License-Identifier: Apache-2.0
// Bodies of matmul.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/matmul.hpp"

namespace tessera::host {

TESSERA_INLINE matmul_job::matmul_job(const bound_call& b) : c_(b.call) {
    const description& d = *c_.d;
    const int summed = d.find_loop(loop_name::reduction);
    loops_[2] = summed;
    loops_[1] = summed - 1; // columns of the result
    loops_[0] = summed - 2; // its rows
    heads_ = summed == 4 ? 1 : -1;
    for (int o = 0; o < 3; ++o) {
        values_[o] = reference::detail::place(d.operands[o], c_.value[o].region);
        gradients_[o] = reference::detail::place(d.operands[o], c_.gradient[o].region);
    }
    factor_ = c_.attributes.as<op::matmul_attributes>().scaled
                  ? static_cast<float>(1 / std::sqrt(static_cast<double>(d.loops[summed].extent)))
                  : 1.0F;
}

TESSERA_INLINE void matmul_job::run(const run_state&) {
    const bool forward = is_forward(c_.what);
    for (int o = 0; o < 2 && !forward; ++o) {
        if (has(c_.emits, o)) { // between parts of heads there may be elements that no head of the shard has
            const box& tile = c_.gradient[o].region;
            std::memset(c_.gradient[o].data, 0, to_size(tile.volume()) * sizeof(float));
        }
    }
    const interval heads = heads_ < 0 ? interval{0, 1} : c_.ranges[heads_];
    for (index_t n = c_.ranges[0].begin; n < c_.ranges[0].end; ++n) {
        for (index_t h = heads.begin; h < heads.end; ++h) {
            if (forward) {
                detail::multiply_matrices(value(0, n, h), value(1, n, h), value(2, n, h), factor_);
                continue;
            }
            if (has(c_.emits, 0)) {
                detail::multiply_matrices(gradient(2, n, h), value(1, n, h).transposed(), gradient(0, n, h), factor_);
            }
            if (has(c_.emits, 1)) {
                detail::multiply_matrices(value(0, n, h).transposed(), gradient(2, n, h), gradient(1, n, h), factor_);
            }
        }
    }
}

TESSERA_INLINE detail::matrix_view matmul_job::gradient(int o, index_t n, index_t h) const {
    return view(o, c_.gradient[o].data, gradients_[o], n, h);
}

TESSERA_INLINE detail::matrix_view matmul_job::view(int o, void* data, const reference::detail::cursor& at, index_t n,
                                                    index_t h) const {
    const int row = loops_[o == 1 ? 2 : 0];
    const int column = loops_[o == 0 ? 2 : 1];
    index_t first = at.base + n * at.step[0] + (heads_ < 0 ? 0 : h * at.step[heads_]);
    first += c_.ranges[row].begin * at.step[row] + c_.ranges[column].begin * at.step[column];
    return {detail::floats(data) + first, c_.ranges[row].size(), c_.ranges[column].size(), at.step[row],
            at.step[column]};
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
