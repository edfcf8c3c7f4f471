// SPDX-License-Identifier: Apache-2.0
// Batch normalization on plain tiles, on blocks of 16 samples, and where the channels lie side by side.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_blocks.hpp"
#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/batch_norm.hpp"

#include <cmath>

namespace tessera::host {

/// Any nests of a batch normalization, forward or backward; see op/batch_norm.hpp for what each one leaves to the next.
class batch_norm_job : public job {
public:
    explicit batch_norm_job(const bound_call& b);

    void run(const run_state&) override;

protected:
    struct moments {
        double mean = 0;
        double inverse = 1; ///< 1 / sqrt(variance + epsilon)
    };

    moments moments_of(index_t k) const;

    bound_call b_;
    detail::channel_rows rows_;
    double count_ = 1; ///< elements per channel of the global batch
    int in_ = -1, gamma_ = -1, beta_ = -1, running_ = -1, statistics_ = -1, out_ = -1;

private:
    void sum(index_t k) const;

    void normalize(index_t k) const;

    /// Sums of dy and of dy times the normalized x.
    void sum_gradients(index_t k) const;

    /// dx = gamma / sigma * (dy - (sum dy + normalized x * sum of dy * normalized x) / count).
    void input_gradient(index_t k) const;
};

class batch_norm_blocks_job : public batch_norm_job {
public:
    batch_norm_blocks_job(const bound_call& b, int f)
        : batch_norm_job(b), blocks_(region(*b.call.d, out_, b.call.ranges).extents(), f) {}

    /// Two doubles, or four floats, a channel.
    static index_t scratch(const compute_call& c, int f);

    void run(const run_state&) override;

private:
    void sum_channels() const;

    void normalize_channels() const;

    void sum_channel_gradients() const;

    void input_gradients() const;

    detail::channel_blocks blocks_;
};

inline constexpr row_list batch_norm_rows{
    row<op::batch_norm_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates =
                [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                    for (const int f : {format::channels16, format::channels_last}) {
                        if (c.d->operands[0].extents.rank >= 4) {
                            out.push_back(detail::in_format(c, f));
                            out.back().scratch = batch_norm_blocks_job::scratch(c, f);
                        }
                    }
                    out.push_back(detail::in_format(c, format::samples16));
                    out.push_back(detail::in_format(c, format::plain));
                },
            .make_job = [](const bound_call& b, const format_table&, dnnl_stream_t) -> owned<job> {
                const int f = b.how.value[0] >= 0 ? b.how.value[0] : b.how.gradient[b.call.d->output()];
                if (f == format::channels16 || f == format::channels_last) {
                    return owned<job>(new batch_norm_blocks_job(b, f));
                }
                return owned<job>(new batch_norm_job(b));
            },
            .why = "oneDNN's has no partial sums, which a split leaves; running statistics are a task of their own",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/batch_norm.inl"
#endif

#include "tessera/base/end_header.inl"
