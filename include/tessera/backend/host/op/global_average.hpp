// SPDX-License-Identifier: Apache-2.0
// Means of whole planes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_blocks.hpp"
#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/pool.hpp"

namespace tessera::host {

/// The mean of every plane; a part of a plane gives a part of the mean.
class global_average_job : public job {
public:
    explicit global_average_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
        rows_ = detail::channel_rows(region(d, 0, b.call.ranges).extents(), f);
        const shape& x = d.operands[0].extents;
        const index_t pixels = x.volume() / (x[0] * x[1]);
        scale_ = 1.0F / static_cast<float>(pixels);
    }

    void run(const run_state&) override {
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

private:
    void average(const float* x, float* y) const {
        float sum[16]{};
        rows_.for_each([&](index_t i, int lane) { sum[lane] += x[i]; });
        for (int lane = 1; rows_.lanes == 1 && lane < 16; ++lane) {
            sum[0] += sum[lane];
        }
        for (int lane = 0; lane < rows_.lanes; ++lane) {
            y[lane] = sum[lane] * scale_;
        }
    }
    void spread(const float* dy, float* dx) const {
        float g[16];
        for (int lane = 0; lane < 16; ++lane) {
            g[lane] = dy[rows_.lanes == 16 ? lane : 0] * scale_;
        }
        rows_.write(dx, [&](index_t, int lane) { return g[lane]; });
    }

    bound_call b_;
    detail::channel_rows rows_;
    float scale_ = 1;
};

/// The mean of every plane, into (or its gradient from) a plain tile [samples][channels].
class global_average_blocks_job : public job {
public:
    explicit global_average_blocks_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
        blocks_ = detail::channel_blocks(region(d, 0, b.call.ranges).extents(), f);
        const shape& x = d.operands[0].extents;
        const index_t pixels = x.volume() / (x[0] * x[1]);
        scale_ = 1.0F / static_cast<float>(pixels);
    }

    void run(const run_state&) override {
        const compute_call& c = b_.call;
        const bool forward = is_forward(c.what);
        float* x = detail::floats(forward ? c.value[0].data : c.gradient[0].data);
        float* y = detail::floats(forward ? c.value[c.d->output()].data : c.gradient[c.d->output()].data);
        for (index_t i = 0; forward && i < blocks_.samples * blocks_.channels; ++i) {
            y[i] = 0;
        }
        const index_t per_sample = blocks_.padded() * blocks_.pixels;
        blocks_.for_each([&](index_t at, index_t channel) {
            const index_t live =
                blocks_.channels - channel < blocks_.width ? blocks_.channels - channel : blocks_.width;
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

private:
    bound_call b_;
    detail::channel_blocks blocks_;
    float scale_ = 1;
};

inline constexpr row_list global_average_rows{
    row<op::global_average_pool_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates =
                [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                    for (const int f : {format::channels16, format::channels_last}) {
                        candidate k = detail::in_format(c, f);
                        const int y = c.d->output();
                        k.value[y] = k.value[y] >= 0 ? format::plain : -1;
                        k.gradient[y] = k.gradient[y] >= 0 ? format::plain : -1;
                        out.push_back(k);
                    }
                    out.push_back(detail::in_format(c, format::samples16));
                    out.push_back(detail::in_format(c, format::plain));
                },
            .make_job = [](const bound_call& b, const format_table&, dnnl_stream_t) -> owned<job> {
                const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
                if (f == format::channels16 || f == format::channels_last) {
                    return owned<job>(new global_average_blocks_job(b));
                }
                return owned<job>(new global_average_job(b));
            },
            .why = "a shard of rows makes its part of the mean, where oneDNN would divide by the elements that it sees",
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
