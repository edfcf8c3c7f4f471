// SPDX-License-Identifier: Apache-2.0
// Layer normalization, softmax and look-ups on plain tiles, row by row.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"

#include <cmath>
#include <cstring>
#include <limits>

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
                static_cast<float>(1 / std::sqrt((variance < 0 ? 0 : variance) + c_.attributes.epsilon))};
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

/// Any nests of a softmax, forward or backward; see op/softmax.hpp.
class softmax_job : public job {
public:
    explicit softmax_job(const bound_call& b) : c_(b.call) {
        const description& d = *c_.d;
        largest_ = d.find_operand(operand_kind::intermediate, 0);
        total_ = d.find_operand(operand_kind::intermediate, 1);
        out_ = d.output();
        const box x = region(d, out_, c_.ranges);
        columns_ = x.dim[x.rank - 1].size();
        first_column_ = x.dim[x.rank - 1].begin;
        matrix_ = x.dim[x.rank - 2];
        rows_ = x.volume() / columns_;
    }

    void run(const run_state&) override {
        for (index_t r = 0; r < rows_; ++r) {
            is_forward(c_.what) ? forward(r) : backward(r);
        }
    }

private:
    float& of_row(const tile_view* all, int o, index_t r) const { return detail::floats(all[o].data)[r]; }

    /// Columns of the shard that the row sees.
    index_t seen(index_t r) const {
        if (!c_.attributes.causal) {
            return columns_;
        }
        const index_t own = matrix_.begin + r % matrix_.size() + 1 - first_column_;
        return own < 0 ? 0 : own < columns_ ? own : columns_;
    }

    void forward(index_t r) const {
        const float* x = detail::floats(c_.value[0].data) + r * columns_;
        const index_t count = seen(r);
        if (c_.first_nest == 0) {
            float top = -std::numeric_limits<float>::infinity();
            for (index_t i = 0; i < count; ++i) {
                top = x[i] > top || std::isnan(x[i]) ? x[i] : top;
            }
            of_row(c_.value, largest_, r) = top;
        }
        const float top = of_row(c_.value, largest_, r);
        if (c_.first_nest <= 1 && c_.last_nest >= 1) {
            float sum = 0;
            for (index_t i = 0; i < count; ++i) {
                sum += std::exp(x[i] - top);
            }
            of_row(c_.value, total_, r) = sum;
        }
        if (c_.last_nest == 2) {
            const float inverse = 1 / of_row(c_.value, total_, r);
            float* y = detail::floats(c_.value[out_].data) + r * columns_;
            for (index_t i = 0; i < columns_; ++i) {
                y[i] = i < count ? std::exp(x[i] - top) * inverse : 0.0F;
            }
        }
    }

    void backward(index_t r) const {
        const float* dy = detail::floats(c_.gradient[out_].data) + r * columns_;
        const float* y = detail::floats(c_.value[out_].data) + r * columns_;
        if (has(c_.emits, total_)) {
            float sum = 0;
            for (index_t i = 0; i < columns_; ++i) {
                sum += dy[i] * y[i];
            }
            of_row(c_.gradient, total_, r) = sum;
        }
        if (has(c_.emits, 0)) {
            const float sum = of_row(c_.gradient, total_, r);
            float* dx = detail::floats(c_.gradient[0].data) + r * columns_;
            for (index_t i = 0; i < columns_; ++i) {
                dx[i] = y[i] * (dy[i] - sum);
            }
        }
    }

    compute_call c_;
    int largest_ = -1, total_ = -1, out_ = -1;
    index_t rows_ = 0, columns_ = 0, first_column_ = 0;
    interval matrix_;
};

/// Look-ups of tokens, and the gradient of the table.
class embedding_job : public job {
public:
    explicit embedding_job(const bound_call& b) : c_(b.call) {
        const description& d = *c_.d;
        table_ = d.find_operand(operand_kind::parameter, 0);
        const box y = region(d, d.output(), c_.ranges);
        columns_ = y.dim[y.rank - 1].size();
        tokens_ = y.volume() / columns_;
        rows_ = c_.ranges[d.find_loop(loop_name::reduction)];
    }

    void run(const run_state&) override {
        const auto* token = static_cast<const std::int32_t*>(c_.value[0].data);
        const auto bytes = static_cast<std::size_t>(columns_) * sizeof(float);
        const bool forward = is_forward(c_.what);
        float* y = detail::floats(forward ? c_.value[c_.d->output()].data : c_.gradient[c_.d->output()].data);
        float* table = detail::floats(forward ? c_.value[table_].data : c_.gradient[table_].data);
        if (!forward) {
            std::memset(table, 0, static_cast<std::size_t>(rows_.size()) * bytes);
        }
        for (index_t t = 0; t < tokens_; ++t, y += columns_) {
            const bool own = token[t] >= rows_.begin && token[t] < rows_.end;
            float* row = own ? table + (token[t] - rows_.begin) * columns_ : nullptr;
            if (forward) {
                own ? std::memcpy(y, row, bytes) : std::memset(y, 0, bytes);
            } else if (own) {
                for (index_t i = 0; i < columns_; ++i) {
                    row[i] += y[i];
                }
            }
        }
    }

private:
    compute_call c_;
    int table_ = -1;
    index_t tokens_ = 0, columns_ = 0;
    interval rows_; ///< of the table
};

} // namespace tessera::host
