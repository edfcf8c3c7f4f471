// SPDX-License-Identifier: Apache-2.0
// Batch normalization and global average pooling where the channels lie side by side: channels last, and oneDNN's blocks of channels.
#pragma once

#include "tessera/backend/host/norm_jobs.hpp"

namespace tessera::host {

namespace detail {

/// Tiles as [samples][groups][pixels][lanes], the lanes being channels.
struct channel_lanes {
    index_t samples = 0, groups = 1, pixels = 0, lanes = 0, channels = 0;

    channel_lanes() = default;
    channel_lanes(const shape& s, int f) : samples(s[0]), pixels(s[2] * s[3]), lanes(s[1]), channels(s[1]) {
        if (f == format::channels16) {
            groups = (s[1] + 15) / 16;
            lanes = 16;
        }
    }
    index_t padded() const { return groups * lanes; }
    /// Calls body(place of lane 0, channel of lane 0) for every pixel of every group.
    template <class Body>
    void for_each(Body&& body) const {
        for (index_t n = 0; n < samples; ++n) {
            for (index_t g = 0; g < groups; ++g) {
                for (index_t p = 0; p < pixels; ++p) {
                    body(((n * groups + g) * pixels + p) * lanes, g * lanes);
                }
            }
        }
    }
};

} // namespace detail

class batch_norm_lanes_job : public batch_norm_job {
public:
    batch_norm_lanes_job(const bound_call& b, int f)
        : batch_norm_job(b), lanes_(region(*b.call.d, out_, b.call.ranges).extents(), f) {}

    /// Two doubles, or four floats, a channel.
    static index_t scratch(const compute_call& c, int f) {
        return detail::channel_lanes(region(*c.d, c.d->output(), c.ranges).extents(), f).padded() * 16;
    }

    void run(const run_state&) override {
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

private:
    void sum_channels() const {
        auto* first = static_cast<double*>(b_.scratch);
        double* second = first + lanes_.padded();
        for (index_t k = 0; k < 2 * lanes_.padded(); ++k) {
            first[k] = 0;
        }
        const float* x = detail::floats(b_.call.value[in_].data);
        lanes_.for_each([&](index_t at, index_t channel) {
            for (index_t k = 0; k < lanes_.lanes; ++k) {
                const auto v = static_cast<double>(x[at + k]);
                first[channel + k] += v;
                second[channel + k] += v * v;
            }
        });
        auto* to = static_cast<double*>(b_.call.value[statistics_].data);
        for (index_t k = 0; k < lanes_.channels; ++k) {
            to[k] = first[k];
            to[k + lanes_.channels] = second[k];
        }
    }

    void normalize_channels() const {
        const compute_call& c = b_.call;
        float* mean = detail::floats(b_.scratch);
        float* factor = mean + lanes_.padded();
        float* shift = factor + lanes_.padded();
        for (index_t k = 0; k < lanes_.padded(); ++k) {
            const bool real = k < lanes_.channels; // what fills up a block stays zero
            const moments m = real ? moments_of(k) : moments();
            mean[k] = static_cast<float>(m.mean);
            factor[k] =
                real ? static_cast<float>(static_cast<double>(detail::floats(c.value[gamma_].data)[k]) * m.inverse) : 0;
            shift[k] = real ? detail::floats(c.value[beta_].data)[k] : 0;
        }
        const float* x = detail::floats(c.value[in_].data);
        float* y = detail::floats(c.value[out_].data);
        lanes_.for_each([&](index_t at, index_t channel) {
            for (index_t k = 0; k < lanes_.lanes; ++k) {
                y[at + k] = (x[at + k] - mean[channel + k]) * factor[channel + k] + shift[channel + k];
            }
        });
    }

    void sum_channel_gradients() const {
        const compute_call& c = b_.call;
        const bool needs_x = has(c.emits, gamma_) || has(c.emits, statistics_);
        auto* first = static_cast<double*>(b_.scratch);
        double* second = first + lanes_.padded();
        for (index_t k = 0; k < 2 * lanes_.padded(); ++k) {
            first[k] = 0;
        }
        const float* dy = detail::floats(c.gradient[out_].data);
        const float* x = needs_x ? detail::floats(c.value[in_].data) : dy;
        lanes_.for_each([&](index_t at, index_t channel) {
            for (index_t k = 0; k < lanes_.lanes; ++k) {
                const auto g = static_cast<double>(dy[at + k]);
                first[channel + k] += g;
                second[channel + k] += g * static_cast<double>(x[at + k]);
            }
        });
        for (index_t k = 0; k < lanes_.channels; ++k) {
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
                to[k + lanes_.channels] = normal;
            }
        }
    }

    void input_gradients() const {
        const compute_call& c = b_.call;
        float* of_dy = detail::floats(b_.scratch);
        float* of_x = of_dy + lanes_.padded();
        float* mean = of_x + lanes_.padded();
        float* constant = mean + lanes_.padded();
        const auto* sums = static_cast<const double*>(c.gradient[statistics_].data);
        for (index_t k = 0; k < lanes_.padded(); ++k) {
            const bool real = k < lanes_.channels;
            const moments m = real ? moments_of(k) : moments();
            const double scale = real ? static_cast<double>(detail::floats(c.value[gamma_].data)[k]) * m.inverse : 0;
            of_dy[k] = static_cast<float>(scale);
            of_x[k] = real ? static_cast<float>(scale * m.inverse * sums[k + lanes_.channels] / count_) : 0;
            mean[k] = static_cast<float>(m.mean);
            constant[k] = real ? static_cast<float>(scale * sums[k] / count_) : 0;
        }
        const float* dy = detail::floats(c.gradient[out_].data);
        const float* x = detail::floats(c.value[in_].data);
        float* dx = detail::floats(c.gradient[in_].data);
        lanes_.for_each([&](index_t at, index_t channel) {
            for (index_t k = 0; k < lanes_.lanes; ++k) {
                const index_t j = channel + k;
                dx[at + k] = of_dy[j] * dy[at + k] - of_x[j] * (x[at + k] - mean[j]) - constant[j];
            }
        });
    }

    detail::channel_lanes lanes_;
};

/// The mean of every plane, into (or its gradient from) a plain tile [samples][channels].
class global_average_lanes_job : public job {
public:
    explicit global_average_lanes_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
        lanes_ = detail::channel_lanes(region(d, 0, b.call.ranges).extents(), f);
        const shape& x = d.operands[0].extents;
        scale_ = 1.0F / static_cast<float>(x[2] * x[3]);
    }

    void run(const run_state&) override {
        const compute_call& c = b_.call;
        const bool forward = is_forward(c.what);
        float* x = detail::floats(forward ? c.value[0].data : c.gradient[0].data);
        float* y = detail::floats(forward ? c.value[c.d->output()].data : c.gradient[c.d->output()].data);
        for (index_t i = 0; forward && i < lanes_.samples * lanes_.channels; ++i) {
            y[i] = 0;
        }
        const index_t per_sample = lanes_.padded() * lanes_.pixels;
        lanes_.for_each([&](index_t at, index_t channel) {
            const index_t live = lanes_.channels - channel < lanes_.lanes ? lanes_.channels - channel : lanes_.lanes;
            float* row = y + at / per_sample * lanes_.channels + channel;
            for (index_t k = 0; k < live; ++k) {
                if (forward) {
                    row[k] += x[at + k] * scale_;
                } else {
                    x[at + k] = row[k] * scale_;
                }
            }
            for (index_t k = live; !forward && k < lanes_.lanes; ++k) {
                x[at + k] = 0;
            }
        });
    }

private:
    bound_call b_;
    detail::channel_lanes lanes_;
    float scale_ = 1;
};

} // namespace tessera::host
