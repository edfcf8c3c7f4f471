// SPDX-License-Identifier: Apache-2.0
// Bodies of softmax.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/softmax.hpp"

namespace tessera::host {

TESSERA_INLINE softmax_job::softmax_job(const bound_call& b) : c_(b.call) {
    const description& d = *c_.d;
    largest_ = d.find_operand(operand_kind::intermediate, 0);
    total_ = d.find_operand(operand_kind::intermediate, 1);
    out_ = d.output();
    lengths_ = d.find_operand(operand_kind::input, 1);
    const box x = region(d, out_, c_.ranges);
    columns_ = x.dim[x.rank - 1].size();
    first_column_ = x.dim[x.rank - 1].begin;
    matrix_ = x.dim[x.rank - 2];
    rows_ = x.volume() / columns_;
    rows_of_sample_ = rows_ / x.dim[0].size();
}

TESSERA_INLINE void softmax_job::run(const run_state&) {
    for (index_t r = 0; r < rows_; ++r) {
        is_forward(c_.what) ? forward(r) : backward(r);
    }
}

TESSERA_INLINE index_t softmax_job::seen(index_t r) const {
    index_t end = columns_;
    if (c_.attributes.as<op::softmax_attributes>().causal) {
        end = std::min(end, matrix_.begin + r % matrix_.size() + 1 - first_column_);
    }
    if (lengths_ >= 0) {
        const auto* const lengths = static_cast<const std::int32_t*>(c_.value[lengths_].data);
        end = std::min<index_t>(end, lengths[r / rows_of_sample_] - first_column_);
    }
    return end < 0 ? 0 : end;
}

TESSERA_INLINE void softmax_job::forward(index_t r) const {
    const float* x = detail::floats(c_.value[0].data) + r * columns_;
    const auto count = static_cast<std::ptrdiff_t>(seen(r));
    if (c_.first_nest == 0) {
        of_row(c_.value, largest_, r) = kernels::row_maximum(x, count);
    }
    const float top = of_row(c_.value, largest_, r);
    const bool sums = c_.first_nest <= 1 && c_.last_nest >= 1;
    float* const y = c_.last_nest == 2 ? detail::floats(c_.value[out_].data) + r * columns_ : nullptr;
    if (sums) {
        of_row(c_.value, total_, r) = kernels::row_exponentials(x, y, count, top);
    }
    if (y != nullptr) {
        const float inverse = 1 / of_row(c_.value, total_, r);
        if (sums) {
            kernels::row_scale(y, y, count, inverse);
        } else {
            kernels::row_softmax(x, y, count, top, inverse);
        }
        std::fill(y + count, y + columns_, 0.0F);
    }
}

TESSERA_INLINE void softmax_job::backward(index_t r) const {
    const float* dy = detail::floats(c_.gradient[out_].data) + r * columns_;
    const float* y = detail::floats(c_.value[out_].data) + r * columns_;
    const auto count = static_cast<std::ptrdiff_t>(columns_);
    if (has(c_.emits, total_)) {
        of_row(c_.gradient, total_, r) = kernels::row_product(dy, y, count);
    }
    if (has(c_.emits, 0)) {
        float* dx = detail::floats(c_.gradient[0].data) + r * columns_;
        kernels::row_softmax_gradient(y, dy, dx, count, of_row(c_.gradient, total_, r));
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
