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
    explicit matmul_job(const bound_call& b);

    const char* computed_by() const override { return "oneDNN sgemm"; }
    void run(const run_state&) override;

private:
    detail::matrix_view value(int o, index_t n, index_t h) const { return view(o, c_.value[o].data, values_[o], n, h); }
    detail::matrix_view gradient(int o, index_t n, index_t h) const;
    /// Operand 0 has rows and what is summed over, operand 1 that and columns, the result rows and columns.
    detail::matrix_view view(int o, void* data, const reference::detail::cursor& at, index_t n, index_t h) const;

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

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/matmul.inl"
#endif

#include "tessera/base/end_header.inl"
