// SPDX-License-Identifier: Apache-2.0
// Products of an activation with a weight, and perhaps a bias: what convolutions and matrix products share, by oneDNN
// and by kernels of our own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernel_limits.hpp"
#include "tessera/backend/host/onednn/operands.hpp"
#include "tessera/backend/host/op/row.hpp"

namespace tessera::host {

namespace detail {

/// The primitive descriptor of a product's pass. `x`, `w`, `y` describe its tensors, w possibly as "any".
/// Primitive(call, engine) has make(primitive_descs, x, w, bias, y).
template <class Primitive>
onednn_problem make_product(const compute_call& c, engine_kind engine, const tensor_desc& x, const tensor_desc& w,
                            const tensor_desc& y) {
    onednn_problem p = operands_of(c);
    const bool has_bias =
        p.bias >= 0 && c.first_part && c.what != pass::backward_input && (is_forward(c.what) || has(c.emits, p.bias));
    tensor_desc b;
    if (has_bias) {
        b = memory_desc(extents_of(c, p.bias), dnnl_a);
    }
    const tensor_desc* bias = has_bias ? &b : nullptr;
    const Primitive primitive(c, engine);
    const auto made_with = [&](const tensor_desc* added) {
        return [&, added](const primitive_descs& make) { return primitive.make(make, x, w, added, y); };
    };
    if (is_forward(c.what)) {
        p.pd = make_primitive_desc(direction::forward, {}, made_with(bias));
        return p;
    }
    const unique_primitive_desc hint = make_primitive_desc(direction::forward, {}, made_with(nullptr), true);
    if (hint) {
        p.pd =
            make_primitive_desc(c.what == pass::backward_input ? direction::backward_data : direction::backward_weights,
                                hint, made_with(bias));
    }
    return p;
}

/// The primitive descriptor of a way, in exactly its formats: what its job makes. None where oneDNN has none.
template <class Primitive>
onednn_problem problem_of(const compute_call& c, const candidate& k, const format_table& table) {
    const onednn_problem o = operands_of(c);
    const auto format_of = [&](int which) { return k.value[which] >= 0 ? k.value[which] : k.gradient[which]; };
    return make_product<Primitive>(
        c, k.engine, table.desc(format_of(o.input), Primitive::extents(c, o.input)),
        weight_desc(table, format_of(o.weight), extents_of(c, o.weight), Primitive::groups(c)),
        table.desc(format_of(o.output), Primitive::extents(c, o.output)));
}

/// Formats of a product's input and output.
struct product_formats {
    int x, y;
};

/// Appends the way in these formats, with weights in the format that oneDNN chooses, or plain; none where oneDNN has
/// only a reference implementation, where it is there already, or where oneDNN has no implementation once the weights
/// have the very format that it chose: where an extent is 1 several formats are one, and 2.6 and 3.2 then take
/// another way.
template <class Primitive>
void add_product_candidate(const compute_call& c, engine_kind engine, const product_formats& f, bool plain_weights,
                           format_table& table, std::vector<candidate>& out) {
    const onednn_problem o = operands_of(c);
    const shape ws = extents_of(c, o.weight);
    const index_t groups = Primitive::groups(c);
    const tensor_desc w = plain_weights ? weight_desc(table, format::plain, ws, groups) : any_weights(ws, groups);
    const onednn_problem p = make_product<Primitive>(c, engine, table.desc(f.x, Primitive::extents(c, o.input)), w,
                                                     table.desc(f.y, Primitive::extents(c, o.output)));
    if (!p.pd) {
        return;
    }
    candidate k;
    k.engine = engine;
    const int weights = table.number(query(p.pd, weight_query(c.what)));
    k.scratch = scratch_bytes(p.pd);
    if (is_forward(c.what)) {
        k.value[p.input] = f.x;
        k.value[p.weight] = weights;
        k.value[p.output] = f.y;
        if (p.bias >= 0) {
            k.value[p.bias] = format::plain;
        }
    } else {
        k.gradient[p.output] = f.y;
        if (c.what == pass::backward_input) {
            k.gradient[p.input] = f.x;
            k.value[p.weight] = weights;
        } else {
            k.value[p.input] = f.x;
            k.gradient[p.weight] = weights;
            if (p.bias >= 0 && has(c.emits, p.bias)) {
                k.gradient[p.bias] = format::plain;
            }
        }
    }
    for (const candidate& e : out) {
        if (same_formats(e, k)) {
            return;
        }
    }
    if (!plain_weights && !problem_of<Primitive>(c, k, table).pd) {
        return;
    }
    out.push_back(k);
}

/// Appends the way in blocks of 16 samples, if the kernels of our own take the shape.
template <class Job>
void add_in_samples(const compute_call& c, std::vector<candidate>& out) {
    if (Job::fits(c)) {
        out.push_back(in_samples(c));
        out.back().scratch = Job::scratch(c);
    }
}

/// Rules of thumb: blocks of samples for few weights, oneDNN's own formats for many.
double product_effort(const compute_call& c, const candidate& k, double flops, bool narrow);

} // namespace detail

/// A product by oneDNN.
template <class Primitive>
class product_job : public job {
public:
    product_job(const bound_call& b, const format_table& table, dnnl_stream_t stream) {
        const compute_call& c = b.call;
        const detail::onednn_problem o = detail::operands_of(c);
        const auto format_of = [&](int which) {
            return b.how.value[which] >= 0 ? b.how.value[which] : b.how.gradient[which];
        };
        const auto data_of = [&](int which, bool gradient) {
            return gradient ? c.gradient[which].data : c.value[which].data;
        };
        const tensor_desc x = table.desc(format_of(o.input), Primitive::extents(c, o.input));
        const tensor_desc w =
            detail::weight_desc(table, format_of(o.weight), detail::extents_of(c, o.weight), Primitive::groups(c));
        const tensor_desc y = table.desc(format_of(o.output), Primitive::extents(c, o.output));
        const detail::onednn_problem p = detail::problem_of<Primitive>(c, b.how, table);
        if (!p.pd) {
            throw error("tessera: oneDNN has no implementation where it had one when the plan was bound");
        }
        primitive_.make(p.pd);
        primitive_.stream = stream;
        const bool forward = is_forward(c.what);
        const bool to_input = c.what == pass::backward_input;
        primitive_.bind(to_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x, data_of(o.input, to_input));
        primitive_.bind(forward || to_input ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, w,
                        data_of(o.weight, !forward && !to_input));
        primitive_.bind(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y, data_of(o.output, !forward));
        const bool has_bias = o.bias >= 0 && c.first_part && !to_input && (forward || has(c.emits, o.bias));
        if (has_bias) {
            primitive_.bind(forward ? DNNL_ARG_BIAS : DNNL_ARG_DIFF_BIAS,
                            memory_desc(detail::extents_of(c, o.bias), dnnl_a), data_of(o.bias, !forward));
        }
        primitive_.bind(DNNL_ARG_SCRATCHPAD, query(p.pd, dnnl_query_scratchpad_md),
                        scratch_.at_least(detail::scratch_bytes(p.pd), b.scratch, b.how.scratch));
    }
    void run(const run_state&) override { primitive_.execute(); }
    const char* computed_by() const override { return Primitive::name; }

private:
    detail::job_scratch scratch_;
    primitive_job primitive_;
};

/// A product by kernels of our own, in blocks of 16 samples.
template <class Kernels>
class weighted_job : public job {
public:
    explicit weighted_job(const bound_call& b) : b_(b), s_(detail::fitting(Kernels::shape_of(b.call), b.call)) {
        const description& d = *b.call.d;
        in_ = d.find_operand(operand_kind::input);
        weight_ = d.find_operand(operand_kind::parameter, 0);
        bias_ = d.find_operand(operand_kind::parameter, 1);
        out_ = d.output();
    }
    static bool fits(const compute_call& c) { return kernels::fits(Kernels::shape_of(c)); }
    static index_t scratch(const compute_call& c) { return Kernels::scratch(c); }
    void run(const run_state&) override {
        const compute_call& c = b_.call;
        using detail::floats;
        if (is_forward(c.what)) {
            const float* bias = bias_ >= 0 && c.first_part ? floats(c.value[bias_].data) : nullptr;
            Kernels::forward(floats(c.value[in_].data), floats(c.value[weight_].data), bias, floats(c.value[out_].data),
                             s_, b_.scratch);
        } else if (c.what == pass::backward_input) {
            Kernels::input_gradient(floats(c.gradient[out_].data), floats(c.value[weight_].data),
                                    floats(c.gradient[in_].data), s_, b_.scratch);
        } else {
            float* bias = bias_ >= 0 && has(c.emits, bias_) ? floats(c.gradient[bias_].data) : nullptr;
            Kernels::weight_gradient(floats(c.value[in_].data), floats(c.gradient[out_].data),
                                     floats(c.gradient[weight_].data), bias, s_, b_.scratch);
        }
    }

private:
    bound_call b_;
    typename Kernels::shape_type s_;
    int in_ = -1, weight_ = -1, bias_ = -1, out_ = -1;
};
} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/product.inl"
#endif

#include "tessera/base/end_header.inl"
