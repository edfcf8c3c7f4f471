// SPDX-License-Identifier: Apache-2.0
// Normalizations on plain tiles whose statistics are of rows that have several elements of a channel: a group of a
// sample's channels, which lie one after the other. Rows of one element a channel: feature_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/op/row.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::host {

/// What a normalization's rows are. A row is `channels` of so many elements each, `plane` of them a channel's.
struct norm_rows {
    index_t groups = 1; ///< rows of a sample whose channels are different ones
    index_t rows = 0;   ///< of the shard
    index_t channels = 0, plane = 1;
    index_t elements = 1; ///< of a whole row, of which a shard may have a part
    double epsilon = 0;
};

/// Any nests of a normalization of rows, forward or backward; see op/layer_norm.hpp for what each one leaves to the
/// next. `RowsOf`: the rows of a call.
template <norm_rows (*RowsOf)(const compute_call&)>
class row_norm_job : public job {
public:
    explicit row_norm_job(const bound_call& b) : c_(b.call), of_(RowsOf(b.call)) {
        const description& d = *c_.d;
        gamma_ = d.find_operand(operand_kind::parameter, 0);
        beta_ = d.find_operand(operand_kind::parameter, 1);
        statistics_ = d.find_operand(operand_kind::intermediate);
        out_ = d.output();
        count_ = static_cast<double>(of_.elements);
    }

    void run(const run_state&) override {
        for (const int o : {gamma_, beta_}) {
            if (has(c_.emits, o)) {
                float* to = detail::floats(c_.gradient[o].data);
                std::fill(to, to + of_.groups * of_.channels, 0.0F);
            }
        }
        for (index_t r = 0; r < of_.rows; ++r) {
            if (is_forward(c_.what)) {
                forward(r);
            } else {
                backward(r);
            }
        }
    }

private:
    struct moments {
        float mean, inverse;
    };

    index_t plane() const { return of_.plane; }
    index_t first_of(index_t row) const { return row * of_.channels * plane(); }
    /// Of a row's first channel, among the parameters of the shard.
    index_t first_channel(index_t row) const { return row % of_.groups * of_.channels; }
    double* doubles(const tile_view* all) const { return static_cast<double*>(all[statistics_].data); }

    moments moments_of(index_t row) const {
        const double* s = doubles(c_.value);
        const double mean = s[row] / count_;
        const double variance = s[row + of_.rows] / count_ - mean * mean;
        return {static_cast<float>(mean),
                static_cast<float>(1 / std::sqrt((variance < 0 ? 0 : variance) + of_.epsilon))};
    }

    void forward(index_t r) const {
        const float* x = detail::floats(c_.value[0].data) + first_of(r);
        if (c_.first_nest == 0) {
            double sum = 0;
            double squares = 0;
            for (index_t i = 0; i < of_.channels * plane(); ++i) {
                const auto v = static_cast<double>(x[i]);
                sum += v;
                squares += v * v;
            }
            doubles(c_.value)[r] = sum;
            doubles(c_.value)[r + of_.rows] = squares;
        }
        if (c_.last_nest == 1) {
            const moments m = moments_of(r);
            const float* gamma = detail::floats(c_.value[gamma_].data) + first_channel(r);
            const float* beta = detail::floats(c_.value[beta_].data) + first_channel(r);
            float* y = detail::floats(c_.value[out_].data) + first_of(r);
            for (index_t k = 0; k < of_.channels; ++k) {
                for (index_t i = k * plane(); i < (k + 1) * plane(); ++i) {
                    y[i] = (x[i] - m.mean) * m.inverse * gamma[k] + beta[k];
                }
            }
        }
    }

    void backward(index_t r) const {
        const float* dy = detail::floats(c_.gradient[out_].data) + first_of(r);
        if (has(c_.emits, beta_)) {
            float* to = detail::floats(c_.gradient[beta_].data) + first_channel(r);
            for (index_t k = 0; k < of_.channels; ++k) {
                double sum = 0;
                for (index_t i = k * plane(); i < (k + 1) * plane(); ++i) {
                    sum += static_cast<double>(dy[i]);
                }
                to[k] += static_cast<float>(sum);
            }
        }
        const bool for_gamma = has(c_.emits, gamma_);
        const bool sums = has(c_.emits, statistics_);
        if (for_gamma && sums) {
            channel_sums<true, true>(r, dy);
        } else if (for_gamma) {
            channel_sums<true, false>(r, dy);
        } else if (sums) {
            channel_sums<false, true>(r, dy);
        }
        if (has(c_.emits, 0)) {
            input_gradient(r, dy);
        }
    }
    /// What is summed up over a row's channels one by one: for gamma, and for the statistics.
    template <bool ForGamma, bool Sums>
    void channel_sums(index_t r, const float* dy) const {
        const moments m = moments_of(r);
        const float* x = detail::floats(c_.value[0].data) + first_of(r);
        const float* gamma = Sums ? detail::floats(c_.value[gamma_].data) + first_channel(r) : nullptr;
        float* to = ForGamma ? detail::floats(c_.gradient[gamma_].data) + first_channel(r) : nullptr;
        double first = 0;
        double second = 0;
        for (index_t k = 0; k < of_.channels; ++k) {
            double sum = 0;
            for (index_t i = k * plane(); i < (k + 1) * plane(); ++i) {
                const float normal = (x[i] - m.mean) * m.inverse;
                if constexpr (ForGamma) {
                    sum += static_cast<double>(dy[i] * normal);
                }
                if constexpr (Sums) {
                    const auto g = static_cast<double>(dy[i] * gamma[k]);
                    first += g;
                    second += g * static_cast<double>(normal);
                }
            }
            if constexpr (ForGamma) {
                to[k] += static_cast<float>(sum);
            }
        }
        if constexpr (Sums) {
            doubles(c_.gradient)[r] = first;
            doubles(c_.gradient)[r + of_.rows] = second;
        }
    }
    void input_gradient(index_t r, const float* dy) const {
        const moments m = moments_of(r);
        const float* x = detail::floats(c_.value[0].data) + first_of(r);
        const float* gamma = detail::floats(c_.value[gamma_].data) + first_channel(r);
        float* dx = detail::floats(c_.gradient[0].data) + first_of(r);
        const auto first = static_cast<float>(doubles(c_.gradient)[r] / count_);
        const auto second = static_cast<float>(doubles(c_.gradient)[r + of_.rows] / count_);
        for (index_t k = 0; k < of_.channels; ++k) {
            for (index_t i = k * plane(); i < (k + 1) * plane(); ++i) {
                dx[i] = m.inverse * (dy[i] * gamma[k] - first - (x[i] - m.mean) * m.inverse * second);
            }
        }
    }

    compute_call c_;
    norm_rows of_;
    int gamma_ = -1, beta_ = -1, statistics_ = -1, out_ = -1;
    double count_ = 1; ///< elements of a whole row
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
