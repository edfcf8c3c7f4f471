// SPDX-License-Identifier: Apache-2.0
// Bodies of batch_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/batch_norm.hpp"

namespace tessera::host {

TESSERA_INLINE batch_norm_job::batch_norm_job(const bound_call& b) : b_(b) {
    const description& d = *b.call.d;
    in_ = d.find_operand(operand_kind::input);
    gamma_ = d.find_operand(operand_kind::parameter, 0);
    beta_ = d.find_operand(operand_kind::parameter, 1);
    running_ = d.find_operand(operand_kind::state, 2);
    statistics_ = d.find_operand(operand_kind::intermediate);
    out_ = d.output();
    const int f = b.how.value[in_] >= 0 ? b.how.value[in_] : b.how.gradient[out_];
    rows_ = detail::channel_rows(region(d, out_, b.call.ranges).extents(), f);
    const shape& x = d.operands[in_].extents;
    const index_t samples = b.call.samples > 0 ? b.call.samples : x[0];
    const index_t values_per_channel = x.volume() / x[0] / x[1] * samples;
    count_ = static_cast<double>(values_per_channel);
}

TESSERA_INLINE void batch_norm_job::run(const run_state&) {
    const compute_call& c = b_.call;
    const bool forward = is_forward(c.what);
    const bool sums = c.first_nest == 0 && c.what != pass::evaluate;
    for (index_t k = 0; k < rows_.channels; ++k) {
        if (forward) {
            if (sums) {
                sum(k);
            }
            if (c.last_nest == 1) {
                normalize(k);
            }
        } else {
            if ((c.emits & ~bit(in_)) != 0) {
                sum_gradients(k);
            }
            if (has(c.emits, in_)) {
                input_gradient(k);
            }
        }
    }
}

TESSERA_INLINE batch_norm_job::moments batch_norm_job::moments_of(index_t k) const {
    const compute_call& c = b_.call;
    double mean = 0;
    double variance = 0;
    if (c.what == pass::evaluate) {
        const float* r = detail::floats(c.value[running_].data);
        mean = static_cast<double>(r[k]);
        variance = static_cast<double>(r[k + rows_.channels]);
    } else {
        const auto* s = static_cast<const double*>(c.value[statistics_].data);
        mean = s[k] / count_;
        variance = s[k + rows_.channels] / count_ - mean * mean;
    }
    return {mean, 1 / std::sqrt((variance < 0 ? 0 : variance) + c.attributes.as<op::batch_norm_attributes>().epsilon)};
}

TESSERA_INLINE void batch_norm_job::sum(index_t k) const {
    double total[2] = {0, 0};
    for (index_t b = 0; b < rows_.blocks; ++b) {
        const float* x = detail::floats(b_.call.value[in_].data) + rows_.at(b, k);
        double first[16]{};
        double second[16]{};
        rows_.for_each([&](index_t i, int lane) {
            const auto v = static_cast<double>(x[i]);
            first[lane] += v;
            second[lane] += v * v;
        });
        total[0] += rows_.sum_live(first, b);
        total[1] += rows_.sum_live(second, b);
    }
    auto* to = static_cast<double*>(b_.call.value[statistics_].data);
    to[k] = total[0];
    to[k + rows_.channels] = total[1];
}

TESSERA_INLINE void batch_norm_job::normalize(index_t k) const {
    const compute_call& c = b_.call;
    const moments m = moments_of(k);
    const auto mean = static_cast<float>(m.mean);
    const auto factor = static_cast<float>(static_cast<double>(detail::floats(c.value[gamma_].data)[k]) * m.inverse);
    const float shift = detail::floats(c.value[beta_].data)[k];
    for (index_t b = 0; b < rows_.blocks; ++b) {
        const float* x = detail::floats(c.value[in_].data) + rows_.at(b, k);
        rows_.write(detail::floats(c.value[out_].data) + rows_.at(b, k),
                    [&](index_t i, int) { return (x[i] - mean) * factor + shift; });
    }
}

TESSERA_INLINE void batch_norm_job::sum_gradients(index_t k) const {
    const compute_call& c = b_.call;
    const bool needs_x = has(c.emits, gamma_) || has(c.emits, statistics_);
    const moments m = needs_x ? moments_of(k) : moments();
    double total[2] = {0, 0};
    for (index_t b = 0; b < rows_.blocks; ++b) {
        const float* dy = detail::floats(c.gradient[out_].data) + rows_.at(b, k);
        const float* x = needs_x ? detail::floats(c.value[in_].data) + rows_.at(b, k) : dy;
        double first[16]{};
        double second[16]{};
        rows_.for_each([&](index_t i, int lane) {
            const auto g = static_cast<double>(dy[i]);
            first[lane] += g;
            second[lane] += g * (static_cast<double>(x[i]) - m.mean);
        });
        total[0] += rows_.sum_live(first, b);
        total[1] += rows_.sum_live(second, b);
    }
    total[1] *= m.inverse;
    if (has(c.emits, gamma_)) {
        detail::floats(c.gradient[gamma_].data)[k] = static_cast<float>(total[1]);
    }
    if (has(c.emits, beta_)) {
        detail::floats(c.gradient[beta_].data)[k] = static_cast<float>(total[0]);
    }
    if (has(c.emits, statistics_)) {
        auto* to = static_cast<double*>(c.gradient[statistics_].data);
        to[k] = total[0];
        to[k + rows_.channels] = total[1];
    }
}

TESSERA_INLINE void batch_norm_job::input_gradient(index_t k) const {
    const compute_call& c = b_.call;
    const moments m = moments_of(k);
    const auto* sums = static_cast<const double*>(c.gradient[statistics_].data);
    const double scale = static_cast<double>(detail::floats(c.value[gamma_].data)[k]) * m.inverse;
    const auto mean = static_cast<float>(m.mean);
    const auto of_dy = static_cast<float>(scale);
    const auto of_x = static_cast<float>(scale * m.inverse * sums[k + rows_.channels] / count_);
    const auto constant = static_cast<float>(scale * sums[k] / count_);
    for (index_t b = 0; b < rows_.blocks; ++b) {
        const float* dy = detail::floats(c.gradient[out_].data) + rows_.at(b, k);
        const float* x = detail::floats(c.value[in_].data) + rows_.at(b, k);
        float* dx = detail::floats(c.gradient[in_].data) + rows_.at(b, k);
        rows_.write(dx, [&](index_t i, int) { return of_dy * dy[i] - of_x * (x[i] - mean) - constant; });
        rows_.clear_rest(dx, b);
    }
}

TESSERA_INLINE index_t batch_norm_blocks_job::scratch(const compute_call& c, int f) {
    return detail::channel_blocks(region(*c.d, c.d->output(), c.ranges).extents(), f).padded() * 16;
}

TESSERA_INLINE void batch_norm_blocks_job::run(const run_state&) {
    const compute_call& c = b_.call;
    if (is_forward(c.what)) {
        if (c.first_nest == 0 && c.what != pass::evaluate) {
            sum_channels();
        }
        if (c.last_nest == 1) {
            normalize_channels();
        }
        return;
    }
    if ((c.emits & ~bit(in_)) != 0) {
        sum_channel_gradients();
    }
    if (has(c.emits, in_)) {
        input_gradients();
    }
}

TESSERA_INLINE void batch_norm_blocks_job::sum_channels() const {
    auto* first = static_cast<double*>(b_.scratch);
    double* second = first + blocks_.padded();
    for (index_t k = 0; k < 2 * blocks_.padded(); ++k) {
        first[k] = 0;
    }
    const float* x = detail::floats(b_.call.value[in_].data);
    blocks_.for_each([&](index_t at, index_t channel) {
        for (index_t k = 0; k < blocks_.width; ++k) {
            const auto v = static_cast<double>(x[at + k]);
            first[channel + k] += v;
            second[channel + k] += v * v;
        }
    });
    auto* to = static_cast<double*>(b_.call.value[statistics_].data);
    for (index_t k = 0; k < blocks_.channels; ++k) {
        to[k] = first[k];
        to[k + blocks_.channels] = second[k];
    }
}

TESSERA_INLINE void batch_norm_blocks_job::normalize_channels() const {
    const compute_call& c = b_.call;
    float* mean = detail::floats(b_.scratch);
    float* factor = mean + blocks_.padded();
    float* shift = factor + blocks_.padded();
    for (index_t k = 0; k < blocks_.padded(); ++k) {
        const bool real = k < blocks_.channels; // what fills up a block stays zero
        const moments m = real ? moments_of(k) : moments();
        mean[k] = static_cast<float>(m.mean);
        factor[k] =
            real ? static_cast<float>(static_cast<double>(detail::floats(c.value[gamma_].data)[k]) * m.inverse) : 0;
        shift[k] = real ? detail::floats(c.value[beta_].data)[k] : 0;
    }
    const float* x = detail::floats(c.value[in_].data);
    float* y = detail::floats(c.value[out_].data);
    blocks_.for_each([&](index_t at, index_t channel) {
        for (index_t k = 0; k < blocks_.width; ++k) {
            y[at + k] = (x[at + k] - mean[channel + k]) * factor[channel + k] + shift[channel + k];
        }
    });
}

TESSERA_INLINE void batch_norm_blocks_job::sum_channel_gradients() const {
    const compute_call& c = b_.call;
    const bool needs_x = has(c.emits, gamma_) || has(c.emits, statistics_);
    auto* first = static_cast<double*>(b_.scratch);
    double* second = first + blocks_.padded();
    for (index_t k = 0; k < 2 * blocks_.padded(); ++k) {
        first[k] = 0;
    }
    const float* dy = detail::floats(c.gradient[out_].data);
    const float* x = needs_x ? detail::floats(c.value[in_].data) : dy;
    blocks_.for_each([&](index_t at, index_t channel) {
        for (index_t k = 0; k < blocks_.width; ++k) {
            const auto g = static_cast<double>(dy[at + k]);
            first[channel + k] += g;
            second[channel + k] += g * static_cast<double>(x[at + k]);
        }
    });
    for (index_t k = 0; k < blocks_.channels; ++k) {
        const moments m = needs_x ? moments_of(k) : moments();
        const double normal = (second[k] - m.mean * first[k]) * m.inverse;
        if (has(c.emits, gamma_)) {
            detail::floats(c.gradient[gamma_].data)[k] = static_cast<float>(normal);
        }
        if (has(c.emits, beta_)) {
            detail::floats(c.gradient[beta_].data)[k] = static_cast<float>(first[k]);
        }
        if (has(c.emits, statistics_)) {
            auto* to = static_cast<double*>(c.gradient[statistics_].data);
            to[k] = first[k];
            to[k + blocks_.channels] = normal;
        }
    }
}

TESSERA_INLINE void batch_norm_blocks_job::input_gradients() const {
    const compute_call& c = b_.call;
    float* of_dy = detail::floats(b_.scratch);
    float* of_x = of_dy + blocks_.padded();
    float* mean = of_x + blocks_.padded();
    float* constant = mean + blocks_.padded();
    const auto* sums = static_cast<const double*>(c.gradient[statistics_].data);
    for (index_t k = 0; k < blocks_.padded(); ++k) {
        const bool real = k < blocks_.channels;
        const moments m = real ? moments_of(k) : moments();
        const double scale = real ? static_cast<double>(detail::floats(c.value[gamma_].data)[k]) * m.inverse : 0;
        of_dy[k] = static_cast<float>(scale);
        of_x[k] = real ? static_cast<float>(scale * m.inverse * sums[k + blocks_.channels] / count_) : 0;
        mean[k] = static_cast<float>(m.mean);
        constant[k] = real ? static_cast<float>(scale * sums[k] / count_) : 0;
    }
    const float* dy = detail::floats(c.gradient[out_].data);
    const float* x = detail::floats(c.value[in_].data);
    float* dx = detail::floats(c.gradient[in_].data);
    blocks_.for_each([&](index_t at, index_t channel) {
        for (index_t k = 0; k < blocks_.width; ++k) {
            const index_t j = channel + k;
            dx[at + k] = of_dy[j] * dy[at + k] - of_x[j] * (x[at + k] - mean[j]) - constant[j];
        }
    });
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
