// SPDX-License-Identifier: Apache-2.0
// Dropout, concatenation and global average pooling on plain tiles and on blocks of 16 samples.
#pragma once

#include "tessera/backend/host/channel_rows.hpp"

#include <cstring>

namespace tessera::host {

/// Dropout of elements or channels: the mask is a function of the global index (op/mask.hpp), computed anew in backward.
class dropout_job : public job {
public:
    explicit dropout_job(const bound_call& b) : b_(b) {
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
        height_ = part.rank > 2 ? part.dim[2] : interval{0, 1};
        width_ = part.rank > 3 ? part.dim[3] : interval{0, 1};
        plane_width_ = part.rank > 3 ? all[3] : 1;
        plane_ = (part.rank > 2 ? all[2] : 1) * plane_width_;
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
                if (c.attributes.kind == op_kind::dropout) {
                    drop_elements(key, sample, begin_.end + k, row);
                } else {
                    drop_channel(key, sample, begin_.end + k, row);
                }
            }
        }
    }

private:
    void drop_elements(std::uint64_t key, index_t sample, index_t channel, index_t row) const {
        const int percent = b_.call.attributes.percent;
        const auto scale = static_cast<float>(op::kept_scale(percent));
        const float* x = from_ + row;
        float* y = to_ + row;
        for (index_t h = height_.begin; h < height_.end; ++h) {
            for (index_t w = width_.begin; w < width_.end; ++w) {
                const index_t first = (sample * channels_ + channel) * plane_ + h * plane_width_ + w;
                for (int lane = 0; lane < rows_.lanes; ++lane) {
                    const bool kept = op::keeps(key, first + lane * channels_ * plane_, percent);
                    *y++ = kept ? *x * scale : 0.0F;
                    ++x;
                }
            }
        }
    }

    void drop_channel(std::uint64_t key, index_t sample, index_t channel, index_t row) const {
        const int percent = b_.call.attributes.percent;
        const auto scale = static_cast<float>(op::kept_scale(percent));
        float factor[16];
        for (int lane = 0; lane < 16; ++lane) {
            const index_t n = sample + (rows_.lanes == 16 ? lane : 0);
            factor[lane] = op::keeps(key, n * channels_ + channel, percent) ? scale : 0.0F;
        }
        const float* x = from_ + row;
        rows_.write(to_ + row, [&](index_t i, int lane) { return factor[lane] > 0 ? x[i] * factor[lane] : 0.0F; });
    }

    bound_call b_;
    detail::channel_rows rows_;
    const float* from_ = nullptr;
    float* to_ = nullptr;
    interval begin_; ///< first sample, first channel
    interval height_, width_;
    index_t channels_ = 1, plane_ = 1, plane_width_ = 1; ///< of the whole tensor
};

/// Copies the channels of the inputs side by side, or their gradients apart.
class concat_job : public job {
public:
    explicit concat_job(const bound_call& b) {
        const compute_call& c = b.call;
        const description& d = *c.d;
        const int out = d.output();
        const bool forward = is_forward(c.what);
        const box y = region(d, out, c.ranges);
        const int f = forward ? b.how.value[out] : b.how.gradient[out];
        const int a = axis(c);
        detail::channel_rows rows(y.extents(), f);
        if (a != 1) { // plain
            rows.length = 1;
            for (int k = a + 1; k < y.rank; ++k) {
                rows.length *= y.dim[k].size();
            }
            rows.channels = y.dim[a].size();
            rows.blocks = y.volume() / (rows.length * rows.channels);
        }
        auto* all = detail::floats(forward ? c.value[out].data : c.gradient[out].data);
        for (int o = 0; o < out; ++o) {
            const box x = region(d, o, c.ranges);
            if (x.empty() || !(forward || has(c.emits, o))) {
                continue;
            }
            piece p;
            p.input = detail::floats(forward ? c.value[o].data : c.gradient[o].data);
            p.output = all + (x.dim[a].begin - d.operands[o].dim[a].offset - y.dim[a].begin) * rows.length;
            p.row = x.dim[a].size() * rows.length;
            pieces_.push_back(p);
        }
        blocks_ = rows.blocks;
        step_ = rows.channels * rows.length;
        forward_ = forward;
    }

    static int axis(const compute_call& c) { return op::axis_of(c.attributes, c.d->operands[0].extents.rank); }

    /// True where all inputs start and end at the borders of blocks of 16 channels.
    static bool in_whole_blocks(const compute_call& c) {
        const int out = c.d->output();
        const index_t first = region(*c.d, out, c.ranges).dim[1].begin;
        for (int o = 0; o < out; ++o) {
            const box x = region(*c.d, o, c.ranges);
            const index_t begin = x.dim[1].begin - c.d->operands[o].dim[1].offset - first;
            if (!x.empty() && (begin % 16 != 0 || x.dim[1].size() % 16 != 0)) {
                return false;
            }
        }
        return true;
    }

    void run(const run_state&) override {
        for (index_t b = 0; b < blocks_; ++b) {
            for (const piece& p : pieces_) {
                float* x = p.input + b * p.row;
                float* y = p.output + b * step_;
                std::memcpy(forward_ ? y : x, forward_ ? x : y, static_cast<std::size_t>(p.row) * sizeof(float));
            }
        }
    }

private:
    struct piece {
        float* input = nullptr;
        float* output = nullptr;
        index_t row = 0;
    };
    std::vector<piece> pieces_;
    index_t blocks_ = 0, step_ = 0;
    bool forward_ = true;
};

/// The mean of every plane; a part of a plane gives a part of the mean.
class global_average_job : public job {
public:
    explicit global_average_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
        rows_ = detail::channel_rows(region(d, 0, b.call.ranges).extents(), f);
        const shape& x = d.operands[0].extents;
        scale_ = 1.0F / static_cast<float>(x[2] * x[3]);
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

} // namespace tessera::host
