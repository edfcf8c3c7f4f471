// SPDX-License-Identifier: Apache-2.0
// Bodies of elementwise.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/elementwise.hpp"

namespace tessera::host {

TESSERA_INLINE element_job::element_job(const bound_call& b, const format_table& table)
    : b_(b), out_(b.call.d->output()), attributes_(attributes_as_floats(b.call.attributes)),
      scale_(static_cast<float>(b.call.loss_scale)) {
    int f = -1; // of any operand: they all have it, and of a loss some passes have no output
    for (int o = 0; o <= out_; ++o) {
        f = b.how.value[o] >= 0 ? b.how.value[o] : b.how.gradient[o] >= 0 ? b.how.gradient[o] : f;
    }
    count_ =
        static_cast<std::ptrdiff_t>(table.bytes(f, region(*b.call.d, out_, b.call.ranges).extents(), element::f32) / 4);
}

TESSERA_INLINE void element_job::set_leaves(const float* (&from)[most_leaves]) const {
    const compute_call& c = b_.call;
    using detail::floats;
    for (int k = 0; k <= out_; ++k) {
        from[k] = floats(c.value[k].data);
    }
    from[out_ + 1] = c.d->facts.loss ? &scale_ : floats(c.gradient[out_].data);
    for (int k = 0; k < expression::most_attributes; ++k) {
        from[out_ + 2 + k] = attributes_.data() + k;
    }
}

TESSERA_INLINE void elementwise_job::run(const run_state&) {
    const compute_call& c = b_.call;
    const float* from[most_leaves] = {};
    set_leaves(from);
    if (is_forward(c.what)) {
        how_.forward(from, detail::floats(c.value[out_].data), count_);
        return;
    }
    for (int o = 0; o < out_; ++o) {
        if (has(c.emits, o)) {
            how_.backward[o](from, detail::floats(c.gradient[o].data), count_);
        }
    }
}

TESSERA_INLINE formula_job::formula_job(const bound_call& b, const format_table& table) : element_job(b, table) {
    const compute_call& c = b.call;
    fixed_vector<int, expression::most_inputs> roots;
    for (int o = 0; o < out_ && !is_forward(c.what); ++o) {
        if (has(c.emits, o)) {
            roots.push_back(o);
        }
    }
    if (is_forward(c.what)) {
        roots.push_back(expression::the_result);
    }
    for (const int which : roots) {
        to_.push_back(detail::floats(which < 0 ? c.value[out_].data : c.gradient[which].data));
    }
    steps_ = formula_steps(*record_of(c.attributes).formula, roots, c.attributes);
}

TESSERA_INLINE void formula_job::run(const run_state&) {
    const float* from[most_leaves] = {};
    set_leaves(from);
    steps_.run(from, to_.items, count_);
}

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE bool keeps_zero(const op_attributes& a) {
    const op_record& r = record_of(a);
    bool all = r.formula != nullptr;
    for (int which = expression::the_result; all && which < r.formula->inputs; ++which) {
        reference::detail::formula_loop<float> loop(*r.formula, which, a);
        all = *loop(1, [](int, float* to) { *to = 0; }) == 0;
    }
    return all;
}

TESSERA_INLINE void add_elementwise_candidates(const compute_call& c, format_table& table,
                                               std::vector<candidate>& out) {
    if (op::is_broadcast(*c.d) || c.d->facts.loss) { // a loss's gradient is no zero where blocks are filled up
        return add_in_plain(c, table, out);
    }
    const bool images = c.d->operands[0].extents.rank >= 4;
    for (const int f : {format::plain, format::channels_last, format::samples16, format::channels16}) {
        if ((!images && (f == format::channels_last || f == format::channels16)) ||
            (f == format::channels16 && !keeps_zero(c.attributes))) {
            continue; // the zeros that fill up blocks of channels must stay zeros
        }
        candidate e = in_samples(c);
        for (int o = 0; o < c.d->operands.size(); ++o) {
            e.value[o] = e.value[o] >= 0 ? f : -1;
            e.gradient[o] = e.gradient[o] >= 0 ? f : -1;
        }
        out.push_back(e);
    }
}

TESSERA_INLINE owned<job> make_formula_job(const bound_call& b, const format_table& table, dnnl_stream_t) {
    return op::is_broadcast(*b.call.d)
               ? owned<job>(new broadcast_job<steps_by_number>(b, steps_by_number(b.call.attributes)))
               : owned<job>(new formula_job(b, table));
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
