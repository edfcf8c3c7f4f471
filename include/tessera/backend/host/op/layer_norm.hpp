// SPDX-License-Identifier: Apache-2.0
// Layer normalization on plain tiles, row by row.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/layer_norm.hpp"

#include <cmath>
#include <cstring>

namespace tessera::host {

/// Any nests of a layer normalization, forward or backward; see op/layer_norm.hpp for what each one leaves to the next.
class layer_norm_job : public job {
public:
    explicit layer_norm_job(const bound_call& b) : c_(b.call) {
        const description& d = *c_.d;
        gamma_ = d.find_operand(operand_kind::parameter, 0);
        beta_ = d.find_operand(operand_kind::parameter, 1);
        statistics_ = d.find_operand(operand_kind::intermediate);
        out_ = d.output();
        const shape x = region(d, out_, c_.ranges).extents();
        columns_ = x[x.rank - 1];
        rows_ = x.volume() / columns_;
        count_ = static_cast<double>(d.operands[0].extents[x.rank - 1]);
    }

    void run(const run_state&) override {
        if (!is_forward(c_.what)) {
            backward();
            return;
        }
        for (index_t r = 0; r < rows_; ++r) {
            const float* x = detail::floats(c_.value[0].data) + r * columns_;
            if (c_.first_nest == 0) {
                double sum = 0;
                double squares = 0;
                for (index_t i = 0; i < columns_; ++i) {
                    const auto v = static_cast<double>(x[i]);
                    sum += v;
                    squares += v * v;
                }
                doubles(c_.value)[r] = sum;
                doubles(c_.value)[r + rows_] = squares;
            }
            if (c_.last_nest == 1) {
                const moments m = moments_of(r);
                const float* gamma = detail::floats(c_.value[gamma_].data);
                const float* beta = detail::floats(c_.value[beta_].data);
                float* y = detail::floats(c_.value[out_].data) + r * columns_;
                for (index_t i = 0; i < columns_; ++i) {
                    y[i] = (x[i] - m.mean) * m.inverse * gamma[i] + beta[i];
                }
            }
        }
    }

private:
    struct moments {
        float mean, inverse;
    };

    double* doubles(const tile_view* all) const { return static_cast<double*>(all[statistics_].data); }

    moments moments_of(index_t row) const {
        const double* s = doubles(c_.value);
        const double mean = s[row] / count_;
        const double variance = s[row + rows_] / count_ - mean * mean;
        return {static_cast<float>(mean),
                static_cast<float>(1 / std::sqrt((variance < 0 ? 0 : variance) +
                                                 c_.attributes.as<op::layer_norm_attributes>().epsilon))};
    }

    void backward() const {
        const bool sums = has(c_.emits, statistics_);
        for (const int o : {gamma_, beta_}) {
            if (has(c_.emits, o)) {
                std::memset(c_.gradient[o].data, 0, static_cast<std::size_t>(columns_) * sizeof(float));
            }
        }
        for (index_t r = 0; r < rows_; ++r) {
            const float* dy = detail::floats(c_.gradient[out_].data) + r * columns_;
            if (has(c_.emits, beta_)) {
                float* to = detail::floats(c_.gradient[beta_].data);
                for (index_t i = 0; i < columns_; ++i) {
                    to[i] += dy[i];
                }
            }
            if (has(c_.emits, gamma_)) {
                add_to_gamma(r, dy);
            }
            if (sums) {
                sum_gradients(r, dy);
            }
            if (has(c_.emits, 0)) {
                input_gradient(r, dy);
            }
        }
    }
    void add_to_gamma(index_t r, const float* dy) const {
        const moments m = moments_of(r);
        const float* x = detail::floats(c_.value[0].data) + r * columns_;
        float* to = detail::floats(c_.gradient[gamma_].data);
        for (index_t i = 0; i < columns_; ++i) {
            to[i] += dy[i] * ((x[i] - m.mean) * m.inverse);
        }
    }
    void sum_gradients(index_t r, const float* dy) const {
        const moments m = moments_of(r);
        const float* x = detail::floats(c_.value[0].data) + r * columns_;
        const float* gamma = detail::floats(c_.value[gamma_].data);
        double first = 0;
        double second = 0;
        for (index_t i = 0; i < columns_; ++i) {
            const auto g = static_cast<double>(dy[i] * gamma[i]);
            first += g;
            second += g * static_cast<double>((x[i] - m.mean) * m.inverse);
        }
        doubles(c_.gradient)[r] = first;
        doubles(c_.gradient)[r + rows_] = second;
    }
    void input_gradient(index_t r, const float* dy) const {
        const moments m = moments_of(r);
        const float* x = detail::floats(c_.value[0].data) + r * columns_;
        const float* gamma = detail::floats(c_.value[gamma_].data);
        float* dx = detail::floats(c_.gradient[0].data) + r * columns_;
        const auto first = static_cast<float>(doubles(c_.gradient)[r] / count_);
        const auto second = static_cast<float>(doubles(c_.gradient)[r + rows_] / count_);
        for (index_t i = 0; i < columns_; ++i) {
            dx[i] = m.inverse * (dy[i] * gamma[i] - first - (x[i] - m.mean) * m.inverse * second);
        }
    }

    compute_call c_;
    int gamma_ = -1, beta_ = -1, statistics_ = -1, out_ = -1;
    index_t rows_ = 0, columns_ = 0;
    double count_ = 1; ///< elements of a whole row
};

inline constexpr operator_row layer_norm_rows[] = {{
    .of = &op::layer_norm_record,
    .add_candidates = detail::add_in_plain,
    .make_job = detail::make<layer_norm_job>,
    .why = "oneDNN's has no partial sums, which a split of the channels leaves",
}};

} // namespace tessera::host
