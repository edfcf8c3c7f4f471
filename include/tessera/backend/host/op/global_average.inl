// SPDX-License-Identifier: Apache-2.0
// Bodies of global_average.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/global_average.hpp"

namespace tessera::host {

TESSERA_INLINE global_average_job::global_average_job(const bound_call& b) : b_(b) {
    const description& d = *b.call.d;
    const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
    rows_ = detail::channel_rows(region(d, 0, b.call.ranges).extents(), f);
    const shape& x = d.operands[0].extents;
    const index_t pixels = x.volume() / (x[0] * x[1]);
    scale_ = 1.0F / static_cast<float>(pixels);
}

TESSERA_INLINE void global_average_job::run(const run_state&) {
    const compute_call& c = b_.call;
    const int out = c.d->output();
    for (index_t i = 0; i < rows_.blocks * rows_.channels; ++i) {
        if (is_forward(c.what)) {
            average(detail::floats(c.value[0].data) + i * rows_.length,
                    detail::floats(c.value[out].data) + i * rows_.lanes);
        } else {
            spread(detail::floats(c.gradient[out].data) + i * rows_.lanes,
                   detail::floats(c.gradient[0].data) + i * rows_.length);
        }
    }
}

TESSERA_INLINE void global_average_job::average(const float* x, float* y) const {
    float sum[16]{};
    rows_.for_each([&](index_t i, int lane) { sum[lane] += x[i]; });
    for (int lane = 1; rows_.lanes == 1 && lane < 16; ++lane) {
        sum[0] += sum[lane];
    }
    for (int lane = 0; lane < rows_.lanes; ++lane) {
        y[lane] = sum[lane] * scale_;
    }
}

TESSERA_INLINE void global_average_job::spread(const float* dy, float* dx) const {
    float g[16];
    for (int lane = 0; lane < 16; ++lane) {
        g[lane] = dy[rows_.lanes == 16 ? lane : 0] * scale_;
    }
    rows_.write(dx, [&](index_t, int lane) { return g[lane]; });
}

TESSERA_INLINE global_average_blocks_job::global_average_blocks_job(const bound_call& b) : b_(b) {
    const description& d = *b.call.d;
    const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
    blocks_ = detail::channel_blocks(region(d, 0, b.call.ranges).extents(), f);
    const shape& x = d.operands[0].extents;
    const index_t pixels = x.volume() / (x[0] * x[1]);
    scale_ = 1.0F / static_cast<float>(pixels);
}

TESSERA_INLINE void global_average_blocks_job::run(const run_state&) {
    const compute_call& c = b_.call;
    const bool forward = is_forward(c.what);
    float* x = detail::floats(forward ? c.value[0].data : c.gradient[0].data);
    float* y = detail::floats(forward ? c.value[c.d->output()].data : c.gradient[c.d->output()].data);
    for (index_t i = 0; forward && i < blocks_.samples * blocks_.channels; ++i) {
        y[i] = 0;
    }
    const index_t per_sample = blocks_.padded() * blocks_.pixels;
    blocks_.for_each([&](index_t at, index_t channel) {
        const index_t live = blocks_.channels - channel < blocks_.width ? blocks_.channels - channel : blocks_.width;
        float* row = y + at / per_sample * blocks_.channels + channel;
        for (index_t k = 0; k < live; ++k) {
            if (forward) {
                row[k] += x[at + k] * scale_;
            } else {
                x[at + k] = row[k] * scale_;
            }
        }
        for (index_t k = live; !forward && k < blocks_.width; ++k) {
            x[at + k] = 0;
        }
    });
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
