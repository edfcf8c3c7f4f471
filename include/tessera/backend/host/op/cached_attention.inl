// SPDX-License-Identifier: Apache-2.0
// Bodies of cached_attention.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernel_limits.hpp"
#include "tessera/backend/host/op/cached_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::host {

namespace detail {

TESSERA_INLINE kernels::attention_shape cached_attention_shape_of(const compute_call& c) {
    const auto a = c.attributes.as<op::cached_attention_attributes>();
    const index_t shared = a.of.heads / a.of.groups();
    const op::attention_loops loops(shared > 1);
    const description& d = *c.d;
    const shape& q = d.operands[d.find_operand(operand_kind::input, 0)].extents;
    const shape& v = d.operands[d.find_operand(operand_kind::input, 2)].extents;
    const interval heads = loops.head >= 0 ? c.ranges[loops.head] : interval{0, 1};
    kernels::attention_shape s;
    s.samples = 1;
    s.groups = c.ranges[loops.group].size();
    s.queries = s.all_queries = q[1];
    s.keys = s.all_keys = a.room;
    s.group_heads = to_int(heads.size());
    s.group_step = to_int(shared);
    s.width = to_int(q[2] / a.of.heads);
    s.value_width = to_int(v[2] / a.of.groups());
    s.first_head = c.ranges[loops.group].begin * shared + heads.begin;
    s.all_heads = a.of.heads;
    s.scale = static_cast<float>(a.of.scale_of(s.width));
    s.cap = static_cast<float>(a.of.softcap);
    s.causal = true;
    s.window = a.of.window < a.of.unlimited ? a.of.window : 0;
    return s;
}

/// The row of a position, from the channels of a head on.
inline float* cached_row(const tile_view& v, index_t n, index_t t, index_t channel) {
    const interval* const d = v.region.dim;
    return floats(v.data) + ((n - d[0].begin) * d[1].size() + t - d[1].begin) * d[2].size() + channel - d[2].begin;
}

/// In eight sums, which lie side by side in vectors.
inline float dot(const float* a, const float* b, index_t count) {
    float part[8] = {};
    index_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (index_t k = 0; k < 8; ++k) {
            part[k] += a[i + k] * b[i + k];
        }
    }
    for (; i < count; ++i) {
        part[0] += a[i] * b[i];
    }
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

} // namespace detail

TESSERA_INLINE cached_attention_job::cached_attention_job(const bound_call& b)
    : b_(b), a_(b.call.attributes.as<op::cached_attention_attributes>()),
      shape_(detail::fitting(detail::cached_attention_shape_of(b.call), b.call)), positions_(shape_.queries),
      weights_(to_size(a_.room)) {
    const index_t heads = (shape_.groups - 1) * shape_.group_step + shape_.group_heads;
    numbers_.resize(to_size(2 * heads * positions_));
    if (!a_.of.alibi) {
        return;
    }
    distances_ = 2 * (a_.room + positions_) + 64; // of which the kernels read the last ones with the others
    bias_.resize(to_size(heads * distances_));
    for (index_t h = 0; h < heads; ++h) {
        const double slope = a_.of.slope_of(shape_.first_head + h);
        for (index_t i = 0; i < distances_; ++i) {
            const auto apart = static_cast<double>(i - a_.room - positions_);
            bias_[to_size(h * distances_ + i)] = static_cast<float>(-slope * apart);
        }
    }
}

/// By the number of the query among the new ones less that of the key among all.
TESSERA_INLINE const float* cached_attention_job::bias_of(index_t head, index_t first) const {
    return bias_.data() + head * distances_ + a_.room + positions_ + std::min(first, a_.room);
}

TESSERA_INLINE void cached_attention_job::keep(index_t n, index_t first) const {
    const index_t group = shape_.first_head / shape_.group_step;
    for (int slot = 0; slot < 2; ++slot) {
        const index_t each = slot == 0 ? shape_.width : shape_.value_width;
        for (index_t i = 0; i < positions_ && first + i < a_.room; ++i) {
            std::memcpy(detail::cached_row(of(operand_kind::parameter, slot), n, first + i, group * each),
                        detail::cached_row(of(operand_kind::input, 1 + slot), n, i, group * each),
                        to_size(shape_.groups * each) * sizeof(float));
        }
    }
}

TESSERA_INLINE void cached_attention_job::attend_by_kernel(index_t n, index_t first) {
    kernels::attention_shape s = shape_;
    s.all_keys = first + positions_;
    s.keys = std::min<index_t>(s.all_keys, a_.room);
    const index_t group = s.first_head / s.group_step;
    const auto rows = [&]<class Float>(Float*, operand_kind kind, int slot, index_t channel) {
        const tile_view& v = of(kind, slot);
        const index_t position = v.region.dim[2].size();
        return kernels::attention_rows<Float>{detail::cached_row(v, n, v.region.dim[1].begin, channel), position,
                                              position * v.region.dim[1].size()};
    };
    kernels::attention_forward_arrays arrays = {
        .query = rows(static_cast<const float*>(nullptr), operand_kind::input, 0, s.first_head * s.width),
        .key = rows(static_cast<const float*>(nullptr), operand_kind::parameter, 0, group * s.width),
        .value = rows(static_cast<const float*>(nullptr), operand_kind::parameter, 1, group * s.value_width),
        .extras = {},
        .output = rows(static_cast<float*>(nullptr), operand_kind::output, 0, s.first_head * s.value_width),
        .maximum = {numbers_.data(), positions_, 0},
        .sum = {numbers_.data() + numbers_.size() / 2, positions_, 0},
    };
    if (!bias_.empty()) {
        arrays.extras.bias = bias_of(0, first);
        arrays.extras.bias_head = distances_;
    }
    kernels::attention_forward(s, arrays, kernels::attention_step::all, b_.scratch);
}

TESSERA_INLINE void cached_attention_job::attend(index_t n, index_t first) {
    const kernels::attention_shape& s = shape_;
    const op::keys_seen seen(a_.of, positions_, first + positions_);
    for (index_t g = 0; g < s.groups; ++g) {
        const index_t group = s.first_head / s.group_step + g;
        for (index_t h = g * s.group_step; h < g * s.group_step + s.group_heads; ++h) {
            for (index_t i = 0; i < positions_; ++i) {
                const float* const query =
                    detail::cached_row(of(operand_kind::input, 0), n, i, (s.first_head + h) * s.width);
                float* const to =
                    detail::cached_row(of(operand_kind::output, 0), n, i, (s.first_head + h) * s.value_width);
                std::fill(to, to + s.value_width, 0.0F);
                const index_t end = seen.end(i, a_.room);
                const index_t begin = std::min(seen.first(i), end);
                float top = -std::numeric_limits<float>::infinity();
                for (index_t k = begin; k < end; ++k) {
                    float z =
                        s.scale * detail::dot(query,
                                              detail::cached_row(of(operand_kind::parameter, 0), n, k, group * s.width),
                                              s.width);
                    z = s.cap > 0 ? s.cap * std::tanh(z / s.cap) : z;
                    z = bias_.empty() ? z : z + bias_of(h, first)[i - k];
                    weights_[to_size(k)] = z;
                    top = z > top || z != z ? z : top;
                }
                float sum = 0;
                for (index_t k = begin; k < end; ++k) {
                    const float weight = std::exp(weights_[to_size(k)] - top);
                    const float* const value =
                        detail::cached_row(of(operand_kind::parameter, 1), n, k, group * s.value_width);
                    sum += weight;
                    for (index_t c = 0; c < s.value_width; ++c) {
                        to[c] += weight * value[c];
                    }
                }
                for (index_t c = 0; c < s.value_width && sum > 0; ++c) {
                    to[c] /= sum;
                }
            }
        }
    }
}

TESSERA_INLINE void cached_attention_job::run(const run_state&) {
    const tile_view& starts = of(operand_kind::input, 3);
    const interval& samples = b_.call.ranges[0];
    for (index_t n = samples.begin; n < samples.end; ++n) {
        const index_t first = static_cast<const std::int32_t*>(starts.data)[n - starts.region.dim[0].begin];
        keep(n, first);
        if (positions_ < few) {
            attend(n, first);
        } else {
            attend_by_kernel(n, first);
        }
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
