// SPDX-License-Identifier: Apache-2.0
// Bodies of dropout.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/dropout.hpp"

namespace tessera::host {

TESSERA_INLINE dropout_job::dropout_job(const bound_call& b, op::dropped_unit unit) : b_(b), unit_(unit) {
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

TESSERA_INLINE void dropout_job::run(const run_state& run) {
    const compute_call& c = b_.call;
    if (c.what == pass::evaluate) {
        std::memcpy(to_, from_, to_size(rows_.blocks * rows_.channels * rows_.length) * sizeof(float));
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

TESSERA_INLINE void dropout_job::drop_elements(std::uint64_t key, index_t sample, index_t channel, index_t row) const {
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

TESSERA_INLINE void dropout_job::drop_together(std::uint64_t key, index_t sample, index_t channel, index_t row) const {
    const auto percent = static_cast<int>(b_.call.attributes.as<op::dropout_attributes>().percent);
    const auto scale = static_cast<float>(op::kept_scale(percent));
    float factor[16];
    for (int lane = 0; lane < 16; ++lane) {
        const index_t n = sample + (rows_.lanes == 16 ? lane : 0);
        factor[lane] =
            op::keeps(key, unit_ == op::dropped_unit::channel ? n * channels_ + channel : n, percent) ? scale : 0.0F;
    }
    const float* x = from_ + row;
    rows_.write(to_ + row, [&](index_t i, int lane) { return factor[lane] > 0 ? x[i] * factor[lane] : 0.0F; });
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
