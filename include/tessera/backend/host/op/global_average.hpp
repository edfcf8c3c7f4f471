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
    explicit global_average_job(const bound_call& b);

    void run(const run_state&) override;

private:
    void average(const float* x, float* y) const;
    void spread(const float* dy, float* dx) const;

    bound_call b_;
    detail::channel_rows rows_;
    float scale_ = 1;
};

/// The mean of every plane, into (or its gradient from) a plain tile [samples][channels].
class global_average_blocks_job : public job {
public:
    explicit global_average_blocks_job(const bound_call& b);

    void run(const run_state&) override;

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

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/global_average.inl"
#endif

#include "tessera/base/end_header.inl"
