// SPDX-License-Identifier: Apache-2.0
// Linear layers of experts: a product for every sample and expert.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/onednn/matrices.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/backend/reference/walk.hpp"
#include "tessera/op/expert.hpp"

namespace tessera::host {

class expert_job : public job {
public:
    explicit expert_job(const bound_call& b);

    const char* computed_by() const override { return "oneDNN sgemm"; }
    void run(const run_state&) override;

private:
    // Operands, and loops besides samples and experts (op/expert.hpp).
    static constexpr int input = 0, weight = 1, output = 2;
    static constexpr int slot = 2, outputs = 3, inputs = 4;

    detail::matrix_view rows(int o, bool gradient, index_t n, index_t e) const;
    detail::matrix_view weights(bool gradient, index_t e) const;

    detail::matrix_view view(int o, bool gradient, index_t n, index_t e, int row, int column) const;

    compute_call c_;
    reference::detail::cursor values_[3], gradients_[3];
};

inline constexpr row_list expert_rows{
    row<op::expert_linear_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_matrices,
            .make_job = detail::make<expert_job>,
            .forward = "oneDNN sgemm",
            .backward = "oneDNN sgemm",
            .problem =
                [](const compute_call& c) {
                    return detail::window_numbers({}, c.attributes.as<op::expert_linear_attributes>().groups);
                },
            .check = first_use::plain_loops,
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/experts.inl"
#endif

#include "tessera/base/end_header.inl"
