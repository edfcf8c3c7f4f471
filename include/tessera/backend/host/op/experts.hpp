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
    explicit expert_job(const bound_call& b) : c_(b.call) {
        for (int o = 0; o < 3; ++o) {
            values_[o] = reference::detail::place(c_.d->operands[o], c_.value[o].region);
            gradients_[o] = reference::detail::place(c_.d->operands[o], c_.gradient[o].region);
        }
    }

    const char* computed_by() const override { return "oneDNN sgemm"; }
    void run(const run_state&) override {
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

private:
    // Operands, and loops besides samples and experts (op/expert.hpp).
    static constexpr int input = 0, weight = 1, output = 2;
    static constexpr int slot = 2, outputs = 3, inputs = 4;

    detail::matrix_view rows(int o, bool gradient, index_t n, index_t e) const {
        return view(o, gradient, n, e, slot, o == input ? inputs : outputs);
    }
    detail::matrix_view weights(bool gradient, index_t e) const {
        return view(weight, gradient, 0, e, outputs, inputs);
    }

    detail::matrix_view view(int o, bool gradient, index_t n, index_t e, int row, int column) const {
        const reference::detail::cursor& at = gradient ? gradients_[o] : values_[o];
        const index_t first = at.base + n * at.step[0] + e * at.step[1] + c_.ranges[row].begin * at.step[row] +
                              c_.ranges[column].begin * at.step[column];
        return {detail::floats(gradient ? c_.gradient[o].data : c_.value[o].data) + first, c_.ranges[row].size(),
                c_.ranges[column].size(), at.step[row], at.step[column]};
    }

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

#include "tessera/base/end_header.inl"
