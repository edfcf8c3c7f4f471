// SPDX-License-Identifier: Apache-2.0
// Bodies of upsample.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/upsample.hpp"

namespace tessera::host {

TESSERA_INLINE bilinear_job::bilinear_job(const bound_call& b) : forward_(is_forward(b.call.what)) {
    const compute_call& c = b.call;
    const int in = c.d->find_operand(operand_kind::input);
    const int out = c.d->output();
    const auto a = c.attributes.as<op::upsample_attributes>();
    const tile_view& x = forward_ ? c.value[in] : c.gradient[in];
    const tile_view& y = forward_ ? c.value[out] : c.gradient[out];
    x_ = detail::floats(x.data);
    y_ = detail::floats(y.data);
    const box& from = x.region;
    const box& to = y.region;
    planes_ = to.dim[0].size() * to.dim[1].size();
    rows_ = from.dim[2].size();
    columns_ = from.dim[3].size();
    for (index_t h = to.dim[2].begin; h < to.dim[2].end; ++h) {
        const op::linear_taps t = op::taps_of(h, a.factor[0], c.d->operands[in].extents[2]);
        const index_t other = t.weight[1] == 0 ? t.at[0] : t.at[1]; // nothing is made of a row that is not here
        row_taps_.push_back({{(t.at[0] - from.dim[2].begin) * columns_, (other - from.dim[2].begin) * columns_},
                             {static_cast<float>(t.weight[0]), static_cast<float>(t.weight[1])}});
    }
    factor_ = a.factor[1];
    first_ = to.dim[3].begin / factor_ - from.dim[3].begin; // the input's column around which the output begins
    pixels_ = to.dim[3].size() / factor_;
    for (index_t u = 0; u < factor_; ++u) { // those of a pixel with neighbours on both sides
        const op::linear_taps t = op::taps_of(factor_ + u, factor_, 3);
        column_taps_.push_back(
            {{t.at[0] - 1, t.at[1] - 1}, {static_cast<float>(t.weight[0]), static_cast<float>(t.weight[1])}});
    }
    line_.resize(to_size(columns_ + 2)); // a column more at each end, which repeats the outermost
}

TESSERA_INLINE void bilinear_job::run(const run_state&) {
    const index_t wide = pixels_ * factor_;
    for (index_t p = 0; p < planes_; ++p) {
        float* const x = x_ + p * rows_ * columns_;
        float* y = y_ + p * static_cast<index_t>(row_taps_.size()) * wide;
        for (index_t i = 0; !forward_ && i < rows_ * columns_; ++i) {
            x[i] = 0;
        }
        for (const taps& t : row_taps_) {
            forward_ ? make_row(x, y, t) : pass_row(x, y, t);
            y += wide;
        }
    }
}

TESSERA_INLINE void bilinear_job::make_row(const float* x, float* y, const taps& t) {
    float* const line = line_.data() + 1;
    const float* const upper = x + t.at[0];
    const float* const lower = x + t.at[1];
    if (t.weight[1] == 0) {
        for (index_t i = 0; i < columns_; ++i) {
            line[i] = upper[i];
        }
    } else {
        for (index_t i = 0; i < columns_; ++i) {
            line[i] = t.weight[0] * upper[i] + t.weight[1] * lower[i];
        }
    }
    line[-1] = line[0];
    line[columns_] = line[columns_ - 1];
    for (index_t u = 0; u < factor_; ++u) {
        const taps& c = column_taps_[to_size(u)];
        const float* const left = line + first_ + c.at[0];
        const float* const right = line + first_ + c.at[1];
        float* const to = y + u;
        if (c.weight[1] == 0) {
            for (index_t q = 0; q < pixels_; ++q) {
                to[q * factor_] = left[q];
            }
        } else {
            for (index_t q = 0; q < pixels_; ++q) {
                to[q * factor_] = c.weight[0] * left[q] + c.weight[1] * right[q];
            }
        }
    }
}

TESSERA_INLINE void bilinear_job::pass_row(float* x, const float* y, const taps& t) {
    float* const line = line_.data() + 1;
    for (index_t i = -1; i <= columns_; ++i) {
        line[i] = 0;
    }
    for (index_t u = 0; u < factor_; ++u) {
        const taps& c = column_taps_[to_size(u)];
        for (int k = 0; k < 2; ++k) {
            float* const to = line + first_ + c.at[k];
            for (index_t q = 0; c.weight[k] != 0 && q < pixels_; ++q) {
                to[q] += c.weight[k] * y[q * factor_ + u];
            }
        }
    }
    line[0] += line[-1];
    line[columns_ - 1] += line[columns_];
    for (int k = 0; k < 2; ++k) {
        float* const to = x + t.at[k];
        for (index_t i = 0; t.weight[k] != 0 && i < columns_; ++i) {
            to[i] += t.weight[k] * line[i];
        }
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
