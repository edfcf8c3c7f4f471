// SPDX-License-Identifier: Apache-2.0
// Products of two activations, matrix by matrix.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/onednn/matrices.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/backend/reference/walk.hpp"
#include "tessera/op/matmul.hpp"

#include <cmath>
#include <cstring>

namespace tessera::host {

/// The product, or the gradients of its inputs.
class matmul_job : public job {
public:
    explicit matmul_job(const bound_call& b) : c_(b.call) {
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

    const char* computed_by() const override { return "oneDNN sgemm"; }
    void run(const run_state&) override {
        const bool forward = is_forward(c_.what);
        for (int o = 0; o < 2 && !forward; ++o) {
            if (has(c_.emits, o)) { // between parts of heads there may be elements that no head of the shard has
                const box& tile = c_.gradient[o].region;
                std::memset(c_.gradient[o].data, 0, static_cast<std::size_t>(tile.volume()) * sizeof(float));
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
                    detail::multiply_matrices(gradient(2, n, h), value(1, n, h).transposed(), gradient(0, n, h),
                                              factor_);
                }
                if (has(c_.emits, 1)) {
                    detail::multiply_matrices(value(0, n, h).transposed(), gradient(2, n, h), gradient(1, n, h),
                                              factor_);
                }
            }
        }
    }

private:
    detail::matrix_view value(int o, index_t n, index_t h) const { return view(o, c_.value[o].data, values_[o], n, h); }
    detail::matrix_view gradient(int o, index_t n, index_t h) const {
        return view(o, c_.gradient[o].data, gradients_[o], n, h);
    }
    /// Operand 0 has rows and what is summed over, operand 1 that and columns, the result rows and columns.
    detail::matrix_view view(int o, void* data, const reference::detail::cursor& at, index_t n, index_t h) const {
        const int row = loops_[o == 1 ? 2 : 0];
        const int column = loops_[o == 0 ? 2 : 1];
        index_t first = at.base + n * at.step[0] + (heads_ < 0 ? 0 : h * at.step[heads_]);
        first += c_.ranges[row].begin * at.step[row] + c_.ranges[column].begin * at.step[column];
        return {detail::floats(data) + first, c_.ranges[row].size(), c_.ranges[column].size(), at.step[row],
                at.step[column]};
    }

    compute_call c_;
    reference::detail::cursor values_[3], gradients_[3];
    int loops_[3]{}; ///< rows, columns, what is summed over
    int heads_ = -1;
    float factor_ = 1;
};

inline constexpr row_list matmul_rows{
    row<op::matmul_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_matrices,
            .make_job = detail::make<matmul_job>,
            .forward = "oneDNN sgemm",
            .backward = "oneDNN sgemm",
            .problem =
                [](const compute_call& c) {
                    const auto a = c.attributes.as<op::matmul_attributes>();
                    return " heads " + std::to_string(a.heads) + (a.transposed[0] ? " t" : " n") +
                           (a.transposed[1] ? "t" : "n") + detail::window_numbers();
                },
            .check = first_use::plain_loops,
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
