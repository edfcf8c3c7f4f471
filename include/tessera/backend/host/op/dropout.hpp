// SPDX-License-Identifier: Apache-2.0
// Dropout of elements, of channels and of samples on plain tiles and on blocks of 16 samples.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/dropout.hpp"

#include <cstring>

namespace tessera::host {

/// Dropout of elements, channels or samples: the mask is a function of the global index (op/mask.hpp), computed anew in
/// backward.
class dropout_job : public job {
public:
    dropout_job(const bound_call& b, op::dropped_unit unit) : b_(b), unit_(unit) {
        const description& d = *b.call.d;
        const int out = d.output();
        const bool forward = is_forward(b.call.what);
        from_ = detail::floats(forward ? b.call.value[0].data : b.call.gradient[out].data);
        to_ = detail::floats(forward ? b.call.value[out].data : b.call.gradient[0].data);
        const int f = forward ? b.how.value[out] : b.how.gradient[out];
        const box part = region(d, out, b.call.ranges);
        rows_ = detail::channel_rows(part.extents(), f);
        begin_ = {part.dim[0].begin, part.dim[1].begin};
        const shape& all = d.operands[out].extents;
        channels_ = all[1];
        for (int from = part.rank - 1, k = 2; from >= 2; --from, --k) {
            ranges_[k] = part.dim[from];
            extents_[k] = all[from];
            plane_ *= all[from];
        }
    }

    void run(const run_state& run) override {
        const compute_call& c = b_.call;
        if (c.what == pass::evaluate) {
            std::memcpy(to_, from_,
                        static_cast<std::size_t>(rows_.blocks * rows_.channels * rows_.length) * sizeof(float));
            return;
        }
        const std::uint64_t key = op::mask_key(run.seed, run.step, c.op);
        for (index_t b = 0; b < rows_.blocks; ++b) {
            for (index_t k = 0; k < rows_.channels; ++k) {
                const index_t sample = begin_.begin + b * rows_.lanes;
                const index_t row = rows_.at(b, k);
                if (unit_ != op::dropped_unit::element) {
                    drop_together(key, sample, begin_.end + k, row);
                } else {
                    drop_elements(key, sample, begin_.end + k, row);
                }
            }
        }
    }

private:
    void drop_elements(std::uint64_t key, index_t sample, index_t channel, index_t row) const {
        const auto percent = static_cast<int>(b_.call.attributes.as<op::dropout_attributes>().percent);
        const auto scale = static_cast<float>(op::kept_scale(percent));
        const float* x = from_ + row;
        float* y = to_ + row;
        const index_t plane = (sample * channels_ + channel) * plane_;
        for (index_t d = ranges_[0].begin; d < ranges_[0].end; ++d) {
            for (index_t h = ranges_[1].begin; h < ranges_[1].end; ++h) {
                for (index_t w = ranges_[2].begin; w < ranges_[2].end; ++w) {
                    const index_t first = plane + (d * extents_[1] + h) * extents_[2] + w;
                    for (int lane = 0; lane < rows_.lanes; ++lane) {
                        const bool kept = op::keeps(key, first + lane * channels_ * plane_, percent);
                        *y++ = kept ? *x * scale : 0.0F;
                        ++x;
                    }
                }
            }
        }
    }

    void drop_together(std::uint64_t key, index_t sample, index_t channel, index_t row) const {
        const auto percent = static_cast<int>(b_.call.attributes.as<op::dropout_attributes>().percent);
        const auto scale = static_cast<float>(op::kept_scale(percent));
        float factor[16];
        for (int lane = 0; lane < 16; ++lane) {
            const index_t n = sample + (rows_.lanes == 16 ? lane : 0);
            factor[lane] = op::keeps(key, unit_ == op::dropped_unit::channel ? n * channels_ + channel : n, percent)
                               ? scale
                               : 0.0F;
        }
        const float* x = from_ + row;
        rows_.write(to_ + row, [&](index_t i, int lane) { return factor[lane] > 0 ? x[i] * factor[lane] : 0.0F; });
    }

    bound_call b_;
    op::dropped_unit unit_;
    detail::channel_rows rows_;
    const float* from_ = nullptr;
    float* to_ = nullptr;
    interval begin_;                                ///< first sample, first channel
    interval ranges_[3] = {{0, 1}, {0, 1}, {0, 1}}; ///< depth, height, width
    index_t extents_[3] = {1, 1, 1};                ///< of the whole tensor
    index_t channels_ = 1, plane_ = 1;              ///< likewise
};

namespace detail {

template <op::dropped_unit Unit>
constexpr operator_row dropout_row(const op_record* of) {
    return {.of = of,
            .add_candidates =
                [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                    out.push_back(in_format(c, format::samples16));
                    out.push_back(in_format(c, format::plain));
                },
            .make_job = [](const bound_call& b, const format_table&,
                           dnnl_stream_t) { return owned<job>(new dropout_job(b, Unit)); },
            .why =
                "the mask is a function of the global index, so that every split drops the same; oneDNN draws its own"};
}

} // namespace detail

inline constexpr row_list dropout_rows{
    row<op::dropout_record>([](auto of) { return detail::dropout_row<op::dropped_unit::element>(of); }),
    row<op::channel_dropout_record>([](auto of) { return detail::dropout_row<op::dropped_unit::channel>(of); }),
    row<op::stochastic_depth_record>([](auto of) { return detail::dropout_row<op::dropped_unit::sample>(of); }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
