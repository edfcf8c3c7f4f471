// SPDX-License-Identifier: Apache-2.0
// Bodies of transposed_convolution.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/transposed_convolution.hpp"

namespace tessera::host {

TESSERA_INLINE transposed_window::transposed_window(const compute_call& c) {
    const box x = region(*c.d, c.d->find_operand(operand_kind::input), c.ranges);
    const box y = region(*c.d, c.d->output(), c.ranges);
    const auto a = c.attributes.as<op::window_attributes>();
    for (int k = 0; k < 2; ++k) {
        const interval in = x.dim[2 + k];
        const interval out = y.dim[2 + k];
        pad_begin[k] = out.begin + a.padding[k] - a.stride[k] * in.begin;
        // Rows that no window reaches are left over where the stride exceeds the window.
        const index_t end = a.stride[k] * (in.size() - 1) + a.window[k] - out.size() - pad_begin[k];
        pad_end[k] = end > 0 ? end : 0;
    }
}

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE onednn_problem make_transposed(const compute_call& c, const tensor_desc& x, const tensor_desc& w,
                                              const tensor_desc& y) {
    onednn_problem p = operands_of(c);
    const transposed_window at(c);
    window_steps g;
    for (int k = 0; k < 2; ++k) {
        g.stride[k] = c.attributes.as<op::window_attributes>().stride[k];
        g.begin[k] = at.pad_begin[k];
        g.end[k] = at.pad_end[k];
    }
    const auto made = [&](const primitive_descs& make) {
        return make.convolution(dnnl_convolution_direct, y, w, nullptr, x, g);
    };
    if (c.what == pass::backward_input) {
        p.pd = make_primitive_desc(direction::forward, {}, made);
        return p;
    }
    const unique_primitive_desc hint = make_primitive_desc(direction::forward, {}, made, true);
    if (hint) {
        p.pd = make_primitive_desc(is_forward(c.what) ? direction::backward_data : direction::backward_weights, hint,
                                   made);
    }
    return p;
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE void add_transposed_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out) {
    const detail::onednn_problem o = detail::operands_of(c);
    const shape ws = detail::extents_of(c, o.weight);
    for (const int f : {format::channels16, format::channels_last, format::plain}) {
        const detail::onednn_problem p =
            detail::make_transposed(c, table.desc(f, detail::extents_of(c, o.input)), detail::any_weights(ws, 1),
                                    table.desc(f, detail::extents_of(c, o.output)));
        if (!p.pd) {
            continue;
        }
        candidate k;
        k.engine = engine_kind::onednn;
        const int weights = table.number(query(p.pd, detail::weight_query(c.what)));
        k.scratch = detail::bias_sums_at(p.pd) + ws[1] * bytes_of(element::f64);
        const bool forward = is_forward(c.what);
        (forward ? k.value : k.gradient)[p.output] = f;
        (c.what == pass::backward_input ? k.gradient : k.value)[p.input] = f;
        (c.what == pass::backward_weight ? k.gradient : k.value)[p.weight] = weights;
        if (p.bias >= 0 && (forward || has(c.emits, p.bias))) {
            (forward ? k.value : k.gradient)[p.bias] = format::plain;
        }
        out.push_back(k);
    }
}

TESSERA_INLINE transposed_job::transposed_job(const bound_call& b, const format_table& table, dnnl_stream_t stream)
    : c_(b.call) {
    const detail::onednn_problem o = detail::operands_of(c_);
    forward_ = is_forward(c_.what);
    format_ = (forward_ ? b.how.value : b.how.gradient)[o.output];
    output_ = detail::extents_of(c_, o.output);
    const tensor_desc x = table.desc(format_, detail::extents_of(c_, o.input));
    const tensor_desc y = table.desc(format_, output_);
    const bool to_input = c_.what == pass::backward_input;
    const int numbered = (forward_ || to_input ? b.how.value : b.how.gradient)[o.weight];
    const tensor_desc w = detail::weight_desc(table, numbered, detail::extents_of(c_, o.weight), 1);
    const detail::onednn_problem p = detail::make_transposed(c_, x, w, y);
    if (!p.pd) {
        throw error("tessera: oneDNN has no implementation where it had one when the plan was bound");
    }
    primitive_.make(p.pd);
    primitive_.stream = stream;
    y_ = detail::floats((forward_ ? c_.value : c_.gradient)[o.output].data);
    primitive_.bind(forward_ ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, y, y_);
    primitive_.bind(to_input ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, x, (to_input ? c_.gradient : c_.value)[o.input].data);
    primitive_.bind(forward_ || to_input ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, w,
                    (forward_ || to_input ? c_.value : c_.gradient)[o.weight].data);
    void* const scratch =
        scratch_.at_least(detail::bias_sums_at(p.pd) + output_[1] * bytes_of(element::f64), b.scratch, b.how.scratch);
    primitive_.bind(DNNL_ARG_SCRATCHPAD, query(p.pd, dnnl_query_scratchpad_md), scratch);
    if (o.bias >= 0 && c_.first_part && (forward_ || has(c_.emits, o.bias))) {
        bias_ = detail::floats((forward_ ? c_.value : c_.gradient)[o.bias].data);
        sums_ = reinterpret_cast<double*>(static_cast<std::byte*>(scratch) + detail::bias_sums_at(p.pd));
    }
}

TESSERA_INLINE void transposed_job::run(const run_state&) {
    primitive_.execute();
    if (bias_ != nullptr) {
        forward_ ? add_bias() : sum_bias();
    }
}

TESSERA_INLINE void transposed_job::add_bias() {
    detail::for_each_pixel(output_, format_, [&](index_t at, index_t channel, index_t live) {
        for (index_t k = 0; k < live; ++k) {
            y_[at + k] += bias_[channel + k];
        }
    });
}

TESSERA_INLINE void transposed_job::sum_bias() {
    std::fill(sums_, sums_ + output_[1], 0.0);
    detail::for_each_pixel(output_, format_, [&](index_t at, index_t channel, index_t live) {
        for (index_t k = 0; k < live; ++k) {
            sums_[channel + k] += static_cast<double>(y_[at + k]);
        }
    });
    for (index_t o = 0; o < output_[1]; ++o) {
        bias_[o] = static_cast<float>(sums_[o]);
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
