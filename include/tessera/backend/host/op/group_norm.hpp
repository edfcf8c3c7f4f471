// SPDX-License-Identifier: Apache-2.0
// Group normalization on plain tiles, group by group of a sample: its channels lie one after the other.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/group_norm.hpp"

#include <cmath>

namespace tessera::host {

/// Any nests of a group normalization, forward or backward; see op/group_norm.hpp for what each one leaves to the next.
class group_norm_job : public job {
public:
    explicit group_norm_job(const bound_call& b) : c_(b.call) {
        const description& d = *c_.d;
        gamma_ = d.find_operand(operand_kind::parameter, 0);
        beta_ = d.find_operand(operand_kind::parameter, 1);
        statistics_ = d.find_operand(operand_kind::intermediate);
        out_ = d.output();
        const auto own = c_.attributes.as<op::group_norm_attributes>();
        epsilon_ = own.epsilon;
        const shape x = region(d, out_, c_.ranges).extents();
        groups_ = c_.ranges[d.find_loop(loop_name::channel)].size();
        rows_ = x[0] * groups_;
        channels_ = x[1] / groups_;
        plane_ = x[2] * x[3];
        const shape& whole = d.operands[0].extents;
        const index_t elements = whole.volume() / whole[0] / own.groups;
        count_ = static_cast<double>(elements);
    }

    void run(const run_state&) override {
        for (const int o : {gamma_, beta_}) {
            if (has(c_.emits, o)) {
                float* to = detail::floats(c_.gradient[o].data);
                std::fill(to, to + groups_ * channels_, 0.0F);
            }
        }
        for (index_t r = 0; r < rows_; ++r) {
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

    index_t first_of(index_t row) const { return row * channels_ * plane_; }
    /// Of a row's first channel, among the parameters of the shard.
    index_t first_channel(index_t row) const { return row % groups_ * channels_; }
    double* doubles(const tile_view* all) const { return static_cast<double*>(all[statistics_].data); }

    moments moments_of(index_t row) const {
        const double* s = doubles(c_.value);
        const double mean = s[row] / count_;
        const double variance = s[row + rows_] / count_ - mean * mean;
        return {static_cast<float>(mean), static_cast<float>(1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon_))};
    }

    void forward(index_t r) const {
        const float* x = detail::floats(c_.value[0].data) + first_of(r);
        if (c_.first_nest == 0) {
            double sum = 0;
            double squares = 0;
            for (index_t i = 0; i < channels_ * plane_; ++i) {
                const auto v = static_cast<double>(x[i]);
                sum += v;
                squares += v * v;
            }
            doubles(c_.value)[r] = sum;
            doubles(c_.value)[r + rows_] = squares;
        }
        if (c_.last_nest == 1) {
            const moments m = moments_of(r);
            const float* gamma = detail::floats(c_.value[gamma_].data) + first_channel(r);
            const float* beta = detail::floats(c_.value[beta_].data) + first_channel(r);
            float* y = detail::floats(c_.value[out_].data) + first_of(r);
            for (index_t k = 0; k < channels_; ++k) {
                for (index_t i = k * plane_; i < (k + 1) * plane_; ++i) {
                    y[i] = (x[i] - m.mean) * m.inverse * gamma[k] + beta[k];
                }
            }
        }
    }

    void backward(index_t r) const {
        const float* dy = detail::floats(c_.gradient[out_].data) + first_of(r);
        for (index_t k = 0; has(c_.emits, beta_) && k < channels_; ++k) {
            double sum = 0;
            for (index_t i = k * plane_; i < (k + 1) * plane_; ++i) {
                sum += static_cast<double>(dy[i]);
            }
            detail::floats(c_.gradient[beta_].data)[first_channel(r) + k] += static_cast<float>(sum);
        }
        if (!has(c_.emits, gamma_) && !has(c_.emits, statistics_) && !has(c_.emits, 0)) {
            return; // nothing else is read
        }
        const float* x = detail::floats(c_.value[0].data) + first_of(r);
        const moments m = moments_of(r);
        double first = 0;
        double second = 0;
        for (index_t k = 0; k < channels_; ++k) {
            double plain = 0;
            double normal = 0;
            for (index_t i = k * plane_; i < (k + 1) * plane_; ++i) {
                plain += static_cast<double>(dy[i]);
                normal += static_cast<double>(dy[i] * ((x[i] - m.mean) * m.inverse));
            }
            if (has(c_.emits, gamma_)) {
                detail::floats(c_.gradient[gamma_].data)[first_channel(r) + k] += static_cast<float>(normal);
            }
            if (has(c_.emits, statistics_)) {
                const auto by = static_cast<double>(gamma_of(r, k));
                first += by * plain;
                second += by * normal;
            }
        }
        if (has(c_.emits, statistics_)) {
            doubles(c_.gradient)[r] = first;
            doubles(c_.gradient)[r + rows_] = second;
        }
        if (has(c_.emits, 0)) {
            input_gradient(r, x, dy, m);
        }
    }
    void input_gradient(index_t r, const float* x, const float* dy, const moments& m) const {
        float* dx = detail::floats(c_.gradient[0].data) + first_of(r);
        const auto first = static_cast<float>(doubles(c_.gradient)[r] / count_);
        const auto second = static_cast<float>(doubles(c_.gradient)[r + rows_] / count_);
        for (index_t k = 0; k < channels_; ++k) {
            const float by = gamma_of(r, k);
            for (index_t i = k * plane_; i < (k + 1) * plane_; ++i) {
                dx[i] = m.inverse * (dy[i] * by - first - (x[i] - m.mean) * m.inverse * second);
            }
        }
    }
    float gamma_of(index_t r, index_t k) const { return detail::floats(c_.value[gamma_].data)[first_channel(r) + k]; }

    compute_call c_;
    int gamma_ = -1, beta_ = -1, statistics_ = -1, out_ = -1;
    index_t groups_ = 1, rows_ = 0, channels_ = 0, plane_ = 0;
    double epsilon_ = 0;
    double count_ = 1; ///< elements of a whole group of a sample
};

inline constexpr operator_row group_norm_rows[] = {{
    .of = &op::group_norm_record,
    .add_candidates = detail::add_in_plain,
    .make_job = detail::make<group_norm_job>,
    .why = "oneDNN 2.6 has none",
}};

} // namespace tessera::host
