// SPDX-License-Identifier: Apache-2.0
// Bodies of attention.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernel_limits.hpp"
#include "tessera/backend/host/op/attention.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::host {

namespace detail {

TESSERA_INLINE kernels::attention_shape attention_shape_of(const compute_call& c) {
    const auto a = c.attributes.as<op::attention_attributes>();
    const index_t shared = a.heads / a.groups();
    const op::attention_loops loops(shared > 1);
    const description& d = *c.d;
    const shape& q = d.operands[d.find_operand(operand_kind::input, 0)].extents;
    const shape& k = d.operands[d.find_operand(operand_kind::input, 1)].extents;
    const shape& v = d.operands[d.find_operand(operand_kind::input, 2)].extents;
    const interval heads = loops.head >= 0 ? c.ranges[loops.head] : interval{0, 1};
    kernels::attention_shape s;
    s.samples = c.ranges[loops.sample].size();
    s.groups = c.ranges[loops.group].size();
    s.queries = c.ranges[loops.query].size();
    s.keys = c.ranges[loops.key].size();
    s.group_heads = to_int(heads.size());
    s.group_step = to_int(shared);
    s.width = to_int(q[2] / a.heads);
    s.value_width = to_int(v[2] / a.groups());
    s.first_sample = c.ranges[loops.sample].begin;
    s.first_head = c.ranges[loops.group].begin * shared + heads.begin;
    s.first_query = c.ranges[loops.query].begin;
    s.first_key = c.ranges[loops.key].begin;
    s.all_heads = a.heads;
    s.all_queries = q[1];
    s.all_keys = k[1];
    s.scale = static_cast<float>(a.scale_of(s.width));
    s.cap = static_cast<float>(a.softcap);
    s.causal = a.causal;
    s.window = a.window < a.unlimited ? a.window : 0;
    s.dropped_percent = c.what == pass::evaluate ? 0 : static_cast<int>(a.percent);
    return s;
}

} // namespace detail

TESSERA_INLINE attention_job::attention_job(const bound_call& b)
    : b_(b), shape_(detail::fitting(detail::attention_shape_of(b.call), b.call)) {
    const auto a = b.call.attributes.as<op::attention_attributes>();
    if ((!a.alibi && a.buckets == 0) || detail::emits_means(b.call)) {
        return;
    }
    const kernels::attention_shape& s = shape_;
    const index_t each = bias_each();
    const index_t first = s.first_query + s.all_keys - s.all_queries - (s.first_key + s.keys - 1);
    bias_.resize(to_size(bias_heads() * each));
    for (index_t h = 0; h < bias_heads() && a.alibi; ++h) {
        const double slope = a.slope_of(s.first_head + h);
        for (index_t i = 0; i < each; ++i) {
            bias_[to_size(h * each + i)] = static_cast<float>(-slope * static_cast<double>(first + i));
        }
    }
    for (index_t i = 0; i < each && a.buckets > 0; ++i) {
        buckets_.push_back(static_cast<std::int32_t>(a.bucket_of(-(first + i))));
    }
    if (a.buckets > 0) {
        alibi_ = a.alibi ? bias_ : std::vector<float>{};
        const bool is_wanted =
            !is_forward(b.call.what) && has(b.call.emits, b.call.d->find_operand(operand_kind::parameter));
        bias_gradient_.resize(is_wanted ? bias_.size() : 0);
    }
}

TESSERA_INLINE void attention_job::take_table() {
    const tile_view& table = b_.call.value[b_.call.d->find_operand(operand_kind::parameter)];
    const interval& heads = table.region.dim[1];
    for (index_t h = 0; h < bias_heads(); ++h) {
        const float* const of_head = detail::floats(table.data) + shape_.first_head + h - heads.begin;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            const std::size_t at = to_size(h) * buckets_.size() + i;
            bias_[at] = of_head[buckets_[i] * heads.size()] + (alibi_.empty() ? 0.0F : alibi_[at]);
        }
    }
}

TESSERA_INLINE void attention_job::give_table_gradient() const {
    const tile_view& to = b_.call.gradient[b_.call.d->find_operand(operand_kind::parameter)];
    const interval& heads = to.region.dim[1];
    std::memset(to.data, 0, to_size(to.region.volume()) * sizeof(float));
    for (index_t h = 0; h < bias_heads(); ++h) {
        float* const of_head = detail::floats(to.data) + shape_.first_head + h - heads.begin;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            of_head[buckets_[i] * heads.size()] += bias_gradient_[to_size(h) * buckets_.size() + i];
        }
    }
}

TESSERA_INLINE void attention_job::run(const run_state& run) {
    kernels::attention_shape s = shape_;
    if (s.dropped_percent > 0) {
        s.mask_key = op::mask_key(run.seed, run.step, b_.call.op);
    }
    if (!buckets_.empty()) {
        take_table();
    }
    is_forward(b_.call.what) ? forward(s) : backward(s);
    if (!bias_gradient_.empty()) {
        give_table_gradient();
    }
}

template <class Float>
kernels::attention_rows<Float> attention_job::rows(const tile_view& v, bool of_queries, index_t width) const {
    if (v.data == nullptr) {
        return {};
    }
    const kernels::attention_shape& s = shape_;
    const index_t position = v.region.dim[2].size();
    const index_t head = of_queries ? s.first_head : s.first_head / s.group_step;
    const index_t first = of_queries ? s.first_query : s.first_key;
    return {detail::floats(v.data) +
                ((s.first_sample - v.region.dim[0].begin) * v.region.dim[1].size() + first - v.region.dim[1].begin) *
                    position +
                head * width - v.region.dim[2].begin,
            position, position * v.region.dim[1].size()};
}

template <class Float>
kernels::attention_numbers<Float> attention_job::numbers(const tile_view& v) const {
    if (v.data == nullptr) {
        return {};
    }
    const kernels::attention_shape& s = shape_;
    const index_t head = v.region.dim[2].size();
    return {
        detail::floats(v.data) +
            ((s.first_sample - v.region.dim[0].begin) * v.region.dim[1].size() + s.first_head - v.region.dim[1].begin) *
                head +
            s.first_query - v.region.dim[2].begin,
        head, head * v.region.dim[1].size()};
}

TESSERA_INLINE kernels::attention_extras attention_job::extras() const {
    kernels::attention_extras e;
    if (!bias_.empty()) {
        e.bias = bias_.data() + shape_.keys - 1;
        e.bias_head = bias_each();
    }
    if (const int o = input(3); o >= 0) {
        const tile_view& v = b_.call.value[o];
        const index_t sample = shape_.first_sample - v.region.dim[0].begin;
        const auto* const all = static_cast<const std::int32_t*>(v.data);
        if (v.region.rank == 2) {
            e.mask_sample = v.region.dim[1].size();
            e.mask = all + sample * e.mask_sample + shape_.first_key - v.region.dim[1].begin;
        } else {
            e.lengths = all + sample;
        }
    }
    return e;
}

TESSERA_INLINE void attention_job::forward(const kernels::attention_shape& s) const {
    const compute_call& c = b_.call;
    const tile_view* const v = c.value;
    const kernels::attention_forward_arrays arrays = {
        .query = rows<const float>(v[input(0)], true, s.width),
        .key = rows<const float>(v[input(1)], false, s.width),
        .value = rows<const float>(v[input(2)], false, s.value_width),
        .extras = extras(),
        .output = rows<float>(v[c.d->output()], true, s.value_width),
        .maximum = numbers<float>(v[intermediate(0)]),
        .sum = numbers<float>(v[intermediate(1)]),
        .continues = c.continues,
    };
    using kernels::attention_step;
    if (c.first_nest == 0 && c.last_nest == 2) {
        return kernels::attention_forward(s, arrays, attention_step::all, b_.scratch);
    }
    constexpr attention_step steps[] = {attention_step::maxima, attention_step::sums, attention_step::outputs};
    for (int nest = c.first_nest; nest <= c.last_nest; ++nest) {
        kernels::attention_forward(s, arrays, steps[nest], b_.scratch);
    }
}

TESSERA_INLINE void attention_job::backward(const kernels::attention_shape& s) {
    const compute_call& c = b_.call;
    const tile_view* const v = c.value;
    const int total = intermediate(1);
    const auto dy = rows<const float>(c.gradient[c.d->output()], true, s.value_width);
    if (has(c.emits, total)) {
        return kernels::attention_means(s, rows<const float>(v[c.d->output()], true, s.value_width), dy,
                                        numbers<float>(c.gradient[total]), b_.scratch);
    }
    const auto gradient = [&](int slot, index_t width) {
        const int o = input(slot);
        return has(c.emits, o) ? rows<float>(c.gradient[o], slot == 0, width) : kernels::attention_rows<float>{};
    };
    if (s.group_heads < s.group_step && has(c.emits, input(0))) { // between a group's heads there may be others
        const tile_view& q = c.gradient[input(0)];
        std::memset(q.data, 0, to_size(q.region.volume()) * sizeof(float));
    }
    std::fill(bias_gradient_.begin(), bias_gradient_.end(), 0.0F);
    kernels::attention_backward(
        s,
        {.query = rows<const float>(v[input(0)], true, s.width),
         .key = rows<const float>(v[input(1)], false, s.width),
         .value = rows<const float>(v[input(2)], false, s.value_width),
         .extras = extras(),
         .output_gradient = dy,
         .maximum = numbers<const float>(v[intermediate(0)]),
         .sum = numbers<const float>(v[total]),
         .means = numbers<const float>(c.gradient[total]),
         .query_gradient = gradient(0, s.width),
         .key_gradient = gradient(1, s.width),
         .value_gradient = gradient(2, s.value_width),
         .bias_gradient = bias_gradient_.empty() ? nullptr : bias_gradient_.data() + shape_.keys - 1},
        b_.scratch);
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
