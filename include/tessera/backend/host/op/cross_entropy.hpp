// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of whole rows, of rows that are divided between shards, and of images.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/kernels/loss.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/op/cross_entropy.hpp"

#include <cmath>
#include <limits>

namespace tessera::host {

namespace detail {

/// True where a call of a cross-entropy has all classes and all nests: it then needs no intermediates.
inline bool is_whole_loss(const compute_call& c) {
    const int classes = c.d->find_loop(loop_name::channel);
    return c.ranges[classes].size() == c.d->loops[classes].extent &&
           (!is_forward(c.what) || (c.first_nest == 0 && c.last_nest + 1 == c.d->nests.size()));
}

} // namespace detail

/// One nest of a cross-entropy, or its gradient from the intermediates, on plain tiles [samples][classes][plane].
class loss_nest_job : public job {
public:
    explicit loss_nest_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        labels_ = d.find_operand(operand_kind::input, 1);
        largest_ = d.find_operand(operand_kind::intermediate, 0);
        total_ = d.find_operand(operand_kind::intermediate, 1);
        classes_ = b.call.ranges[d.find_loop(loop_name::channel)];
        rows_ = detail::channel_rows(region(d, 0, b.call.ranges).extents(), format::plain);
    }

    void run(const run_state&) override {
        const compute_call& c = b_.call;
        for (index_t n = 0; n < rows_.blocks; ++n) {
            if (!is_forward(c.what)) {
                gradient(n);
                continue;
            }
            for (int k = c.first_nest; k <= c.last_nest; ++k) {
                k == 0 ? maximum(n) : k == 1 ? sum(n) : pick(n);
            }
        }
    }

private:
    float* rows_of(int o, index_t n) const { return detail::floats(b_.call.value[o].data) + n * rows_.length; }
    const std::int32_t* labels_of(index_t n) const {
        return static_cast<const std::int32_t*>(b_.call.value[labels_].data) + n * rows_.length;
    }
    const float* logits(index_t n, index_t k) const { return detail::floats(b_.call.value[0].data) + rows_.at(n, k); }

    void maximum(index_t n) const {
        float* top = rows_of(largest_, n);
        for (index_t i = 0; i < rows_.length; ++i) {
            top[i] = -std::numeric_limits<float>::infinity();
        }
        for (index_t k = 0; k < rows_.channels; ++k) {
            const float* x = logits(n, k);
            for (index_t i = 0; i < rows_.length; ++i) {
                top[i] = x[i] > top[i] || is_nan(x[i]) ? x[i] : top[i];
            }
        }
    }
    void sum(index_t n) const {
        const float* top = rows_of(largest_, n);
        float* total = rows_of(total_, n);
        for (index_t i = 0; i < rows_.length; ++i) {
            total[i] = 0;
        }
        for (index_t k = 0; k < rows_.channels; ++k) {
            const float* x = logits(n, k);
            for (index_t i = 0; i < rows_.length; ++i) {
                total[i] += std::exp(x[i] - top[i]);
            }
        }
    }
    void pick(index_t n) const {
        const float* top = rows_of(largest_, n);
        const float* total = rows_of(total_, n);
        const std::int32_t* label = labels_of(n);
        float* y = rows_of(b_.call.d->output(), n);
        for (index_t i = 0; i < rows_.length; ++i) {
            const index_t k = label[i] - classes_.begin;
            const bool own = k >= 0 && k < rows_.channels;                       // another shard has the label's class
            y[i] = own ? std::log(total[i]) + (top[i] - logits(n, k)[i]) : 0.0F; // no offset of all logits in a sum
        }
    }
    void gradient(index_t n) const {
        const float* top = rows_of(largest_, n);
        const float* total = rows_of(total_, n);
        const std::int32_t* label = labels_of(n);
        const auto scale = static_cast<float>(b_.call.loss_scale);
        for (index_t k = 0; k < rows_.channels; ++k) {
            const float* x = logits(n, k);
            float* dx = detail::floats(b_.call.gradient[0].data) + rows_.at(n, k);
            for (index_t i = 0; i < rows_.length; ++i) {
                const float hit = label[i] == classes_.begin + k ? 1.0F : 0.0F;
                dx[i] = (std::exp(x[i] - top[i]) / total[i] - hit) * scale;
            }
        }
    }

    bound_call b_;
    detail::channel_rows rows_;
    interval classes_;
    int labels_ = -1, largest_ = -1, total_ = -1;
};

/// Softmax cross-entropy of the pixels of images: rows of classes, which plain tiles are transposed into sample by
/// sample.
class pixel_loss_job : public job {
public:
    explicit pixel_loss_job(const bound_call& b) : b_(b), s_(region(*b.call.d, 0, b.call.ranges).extents()) {}

    static index_t scratch(const compute_call& c, int f) {
        const shape s = region(*c.d, 0, c.ranges).extents();
        const index_t losses = is_forward(c.what) ? 0 : s.volume() / s[1];
        return (losses + (f == format::plain ? s.volume() / s[0] : 0)) * 4;
    }

    void run(const run_state&) override {
        const compute_call& c = b_.call;
        const bool forward = is_forward(c.what);
        const index_t plane = s_.volume() / (s_[0] * s_[1]);
        const index_t classes = s_[1];
        const auto* labels = static_cast<const std::int32_t*>(c.value[1].data);
        float* losses = detail::floats(forward ? c.value[c.d->output()].data : b_.scratch);
        const auto scale = static_cast<float>(c.loss_scale);
        float* x = detail::floats(c.value[0].data);
        float* dx = forward ? nullptr : detail::floats(c.gradient[0].data);
        if (b_.how.value[0] == format::channels_last) {
            kernels::cross_entropy_rows(x, labels, losses, dx, s_[0] * plane, classes, scale);
            return;
        }
        float* rows = detail::floats(b_.scratch) + (forward ? 0 : s_[0] * plane);
        for (index_t n = 0; n < s_[0]; ++n) {
            for (index_t k = 0; k < classes; ++k) {
                for (index_t i = 0; i < plane; ++i) {
                    rows[i * classes + k] = x[(n * classes + k) * plane + i];
                }
            }
            kernels::cross_entropy_rows(rows, labels + n * plane, losses + n * plane, forward ? nullptr : rows, plane,
                                        classes, scale);
            for (index_t k = 0; !forward && k < classes; ++k) {
                for (index_t i = 0; i < plane; ++i) {
                    dx[(n * classes + k) * plane + i] = rows[i * classes + k];
                }
            }
        }
    }

private:
    bound_call b_;
    shape s_;
};

/// Softmax cross-entropy of whole rows, forward and backward recomputing the little that they share.
class loss_job : public job {
public:
    explicit loss_job(const bound_call& b) : b_(b) {
        const description& d = *b.call.d;
        logits_ = d.find_operand(operand_kind::input, 0);
        labels_ = d.find_operand(operand_kind::input, 1);
        out_ = d.output();
        const shape x = region(d, logits_, b.call.ranges).extents();
        classes_ = static_cast<std::ptrdiff_t>(x[x.rank - 1]);
        rows_ = static_cast<std::ptrdiff_t>(x.volume()) / classes_;
    }
    static index_t scratch(const compute_call& c) {
        const shape x = region(*c.d, 0, c.ranges).extents();
        return is_forward(c.what) ? 0 : (x.volume() / x[x.rank - 1] + 15) / 16 * 64;
    }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        const bool forward = is_forward(c.what);
        const float* x = floats(c.value[logits_].data);
        const auto* labels = static_cast<const std::int32_t*>(c.value[labels_].data);
        float* losses = forward ? floats(c.value[out_].data) : floats(b_.scratch);
        float* dx = forward ? nullptr : floats(c.gradient[logits_].data);
        const auto scale = static_cast<float>(c.loss_scale);
        if (b_.how.value[logits_] == format::samples16) {
            kernels::cross_entropy_blocked(x, labels, losses, dx, rows_, classes_, scale);
        } else {
            kernels::cross_entropy_rows(x, labels, losses, dx, rows_, classes_, scale);
        }
    }

private:
    bound_call b_;
    int logits_ = -1, labels_ = -1, out_ = -1;
    std::ptrdiff_t rows_ = 0, classes_ = 0;
};

namespace detail {

/// The way does without the maxima and sums of rows after all.
inline void leave_out_intermediates(const compute_call& c, candidate& k) {
    for (int o = 0; o < c.d->operands.size(); ++o) {
        if (c.d->operands[o].kind == operand_kind::intermediate) {
            k.unused |= bit(o);
            k.value[o] = -1;
        }
    }
}

inline void add_loss_candidates(const compute_call& c, format_table&, std::vector<candidate>& out) {
    const int rank = c.d->operands[0].extents.rank;
    if (!is_whole_loss(c)) {
        if (rank != 3) { // plain loops do sequences
            out.push_back(in_format(c, format::plain));
        }
        return;
    }
    if (rank > 3) {
        for (const int f : {format::channels_last, format::plain}) {
            candidate k = in_format(c, f);
            k.scratch = pixel_loss_job::scratch(c, f);
            k.value[c.d->output()] = is_forward(c.what) ? format::plain : -1; // rows of images, not images
            leave_out_intermediates(c, k);
            out.push_back(k);
        }
        return;
    }
    candidate k = in_samples(c);
    k.scratch = loss_job::scratch(c);
    leave_out_intermediates(c, k);
    if (rank == 2) {
        out.push_back(k);
    }
    for (int o = 0; o < c.d->operands.size(); ++o) {
        k.value[o] = k.value[o] >= 0 ? format::plain : -1;
        k.gradient[o] = k.gradient[o] >= 0 ? format::plain : -1;
    }
    out.push_back(k);
}

} // namespace detail

inline constexpr row_list cross_entropy_rows{
    row<op::cross_entropy_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_loss_candidates,
            .make_job = [](const bound_call& b, const format_table&, dnnl_stream_t) -> owned<job> {
                if (!detail::is_whole_loss(b.call)) {
                    return owned<job>(new loss_nest_job(b));
                }
                if (b.call.d->operands[0].extents.rank > 3) {
                    return owned<job>(new pixel_loss_job(b));
                }
                return owned<job>(new loss_job(b));
            },
            .why = "oneDNN has no cross-entropy",
            .problem =
                [](const compute_call& c) {
                    return (detail::is_whole_loss(c) ? " whole" : " part") + detail::window_numbers();
                },
            .backward_follows_forward = true,
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
