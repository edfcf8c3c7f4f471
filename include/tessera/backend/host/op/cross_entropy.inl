// SPDX-License-Identifier: Apache-2.0
// Bodies of cross_entropy.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/cross_entropy.hpp"

namespace tessera::host::detail {

TESSERA_INLINE bool is_whole_loss(const compute_call& c) {
    const int classes = c.d->find_loop(loop_name::channel);
    return c.ranges[classes].size() == c.d->loops[classes].extent &&
           (!is_forward(c.what) || (c.first_nest == 0 && c.last_nest + 1 == c.d->nests.size()));
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE loss_nest_job::loss_nest_job(const bound_call& b) : b_(b) {
    const description& d = *b.call.d;
    labels_ = d.find_operand(operand_kind::input, 1);
    largest_ = d.find_operand(operand_kind::intermediate, 0);
    total_ = d.find_operand(operand_kind::intermediate, 1);
    classes_ = b.call.ranges[d.find_loop(loop_name::channel)];
    rows_ = detail::channel_rows(region(d, 0, b.call.ranges).extents(), format::plain);
}

TESSERA_INLINE void loss_nest_job::run(const run_state&) {
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

TESSERA_INLINE const std::int32_t* loss_nest_job::labels_of(index_t n) const {
    return static_cast<const std::int32_t*>(b_.call.value[labels_].data) + n * rows_.length;
}

TESSERA_INLINE void loss_nest_job::maximum(index_t n) const {
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

TESSERA_INLINE void loss_nest_job::sum(index_t n) const {
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

TESSERA_INLINE void loss_nest_job::pick(index_t n) const {
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

TESSERA_INLINE void loss_nest_job::gradient(index_t n) const {
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

TESSERA_INLINE row_loss_nest_job::row_loss_nest_job(const bound_call& b) : c_(b.call) {
    const description& d = *c_.d;
    labels_ = d.find_operand(operand_kind::input, 1);
    largest_ = d.find_operand(operand_kind::intermediate, 0);
    total_ = d.find_operand(operand_kind::intermediate, 1);
    classes_ = c_.ranges[d.find_loop(loop_name::channel)];
    rows_ = region(d, 0, c_.ranges).volume() / classes_.size();
}

TESSERA_INLINE void row_loss_nest_job::run(const run_state&) {
    for (index_t r = 0; r < rows_; ++r) {
        is_forward(c_.what) ? forward(r) : backward(r);
    }
}

TESSERA_INLINE void row_loss_nest_job::forward(index_t r) const {
    const auto count = static_cast<std::ptrdiff_t>(classes_.size());
    const float* x = detail::floats(c_.value[0].data) + r * classes_.size();
    for (int k = c_.first_nest; k <= c_.last_nest; ++k) {
        if (k == 0) {
            detail::floats(c_.value[largest_].data)[r] = kernels::row_maximum(x, count);
            continue;
        }
        const float top = detail::floats(c_.value[largest_].data)[r];
        if (k == 1) {
            detail::floats(c_.value[total_].data)[r] = kernels::row_exponentials(x, nullptr, count, top);
            continue;
        }
        const index_t label = static_cast<const std::int32_t*>(c_.value[labels_].data)[r] - classes_.begin;
        const bool own = label >= 0 && label < classes_.size(); // another shard has the label's class
        const float total = detail::floats(c_.value[total_].data)[r];
        // Less the label's logit last, so that an offset of all logits is in no sum.
        detail::floats(c_.value[c_.d->output()].data)[r] = own ? std::log(total) + (top - x[label]) : 0.0F;
    }
}

TESSERA_INLINE void row_loss_nest_job::backward(index_t r) const {
    const float* x = detail::floats(c_.value[0].data) + r * classes_.size();
    float* dx = detail::floats(c_.gradient[0].data) + r * classes_.size();
    const auto scale = static_cast<float>(c_.loss_scale);
    kernels::row_softmax(x, dx, static_cast<std::ptrdiff_t>(classes_.size()),
                         detail::floats(c_.value[largest_].data)[r], scale / detail::floats(c_.value[total_].data)[r]);
    const index_t label = static_cast<const std::int32_t*>(c_.value[labels_].data)[r] - classes_.begin;
    if (label >= 0 && label < classes_.size()) {
        dx[label] -= scale;
    }
}

TESSERA_INLINE index_t pixel_loss_job::scratch(const compute_call& c, int f) {
    const shape s = region(*c.d, 0, c.ranges).extents();
    const index_t losses = is_forward(c.what) ? 0 : s.volume() / s[1];
    return (losses + (f == format::plain ? s.volume() / s[0] : 0)) * 4;
}

TESSERA_INLINE void pixel_loss_job::run(const run_state&) {
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

TESSERA_INLINE loss_job::loss_job(const bound_call& b) : b_(b) {
    const description& d = *b.call.d;
    logits_ = d.find_operand(operand_kind::input, 0);
    labels_ = d.find_operand(operand_kind::input, 1);
    out_ = d.output();
    const shape x = region(d, logits_, b.call.ranges).extents();
    classes_ = static_cast<std::ptrdiff_t>(x[x.rank - 1]);
    rows_ = static_cast<std::ptrdiff_t>(x.volume()) / classes_;
}

TESSERA_INLINE index_t loss_job::scratch(const compute_call& c) {
    const shape x = region(*c.d, 0, c.ranges).extents();
    return is_forward(c.what) ? 0 : (x.volume() / x[x.rank - 1] + 15) / 16 * 64;
}

TESSERA_INLINE void loss_job::run(const run_state&) {
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

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE void leave_out_intermediates(const compute_call& c, candidate& k) {
    for (int o = 0; o < c.d->operands.size(); ++o) {
        if (c.d->operands[o].kind == operand_kind::intermediate) {
            k.unused |= bit(o);
            k.value[o] = -1;
        }
    }
}

TESSERA_INLINE void add_loss_candidates(const compute_call& c, format_table&, std::vector<candidate>& out) {
    const int rank = c.d->operands[0].extents.rank;
    if (!is_whole_loss(c)) {
        out.push_back(in_format(c, format::plain));
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

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
