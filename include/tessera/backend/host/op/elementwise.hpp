// SPDX-License-Identifier: Apache-2.0
// Element-wise operators in any format whose elements all operands have in one order.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/broadcast.hpp"
#include "tessera/backend/host/op/formula_steps.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/backend/reference/op/expression.hpp"
#include "tessera/op/abs.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/add_constant.hpp"
#include "tessera/op/clamp.hpp"
#include "tessera/op/divide.hpp"
#include "tessera/op/elu.hpp"
#include "tessera/op/exp.hpp"
#include "tessera/op/gelu.hpp"
#include "tessera/op/hard_swish.hpp"
#include "tessera/op/leaky_relu.hpp"
#include "tessera/op/log.hpp"
#include "tessera/op/maximum.hpp"
#include "tessera/op/minimum.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/negate.hpp"
#include "tessera/op/power.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/scale.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/silu.hpp"
#include "tessera/op/softplus.hpp"
#include "tessera/op/sqrt.hpp"
#include "tessera/op/stop_gradient.hpp"
#include "tessera/op/straight_through_round.hpp"
#include "tessera/op/subtract.hpp"
#include "tessera/op/tanh.hpp"

namespace tessera::host {

/// Operators that do the same to every element, whatever the format: the number of stored elements is all they need to
/// know.
class element_job : public job {
protected:
    static constexpr int most_leaves = expression::most_inputs + 2 + expression::most_attributes;

    element_job(const bound_call& b, const format_table& table)
        : b_(b), out_(b.call.d->output()), attributes_(attributes_as_floats(b.call.attributes)),
          scale_(static_cast<float>(b.call.loss_scale)) {
        int f = -1; // of any operand: they all have it, and of a loss some passes have no output
        for (int o = 0; o <= out_; ++o) {
            f = b.how.value[o] >= 0 ? b.how.value[o] : b.how.gradient[o] >= 0 ? b.how.gradient[o] : f;
        }
        count_ = static_cast<std::ptrdiff_t>(
            table.bytes(f, region(*b.call.d, out_, b.call.ranges).extents(), element::f32) / 4);
    }
    /// The arrays of the inputs, the output, its gradient, and of every attribute.
    void set_leaves(const float* (&from)[most_leaves]) const {
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

    bound_call b_;
    int out_;
    std::array<float, expression::most_attributes> attributes_;
    float scale_;
    std::ptrdiff_t count_ = 0;
};

/// By kernels that are compiled.
class elementwise_job : public element_job {
public:
    elementwise_job(const bound_call& b, const format_table& table, const elementwise_kernels& how)
        : element_job(b, table), how_(how) {}
    void run(const run_state&) override {
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

private:
    const elementwise_kernels& how_;
};

/// By the nodes of a formula that was not there when the program was compiled.
class formula_job : public element_job {
public:
    formula_job(const bound_call& b, const format_table& table) : element_job(b, table) {
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
    void run(const run_state&) override {
        const float* from[most_leaves] = {};
        set_leaves(from);
        steps_.run(from, to_.items, count_);
    }

private:
    formula_steps steps_;
    fixed_vector<float*, expression::most_inputs> to_;
};

namespace detail {

/// Whether a use of an operator makes 0 of zeros, forward and backward (0 / sqrt(0) is none); of one that is no
/// expression nobody knows.
inline bool keeps_zero(const op_attributes& a) {
    const op_record& r = record_of(a);
    bool all = r.formula != nullptr;
    for (int which = expression::the_result; all && which < r.formula->inputs; ++which) {
        reference::detail::formula_loop<float> loop(*r.formula, which, a);
        all = *loop(1, [](int, float* to) { *to = 0; }) == 0;
    }
    return all;
}

/// All operands in one format, which is any that has its elements' zeros where it is longer than they are; plain where
/// inputs are broadcast.
inline void add_elementwise_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out) {
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

template <const elementwise_kernels& Kernels>
owned<job> make_elementwise_job(const bound_call& b, const format_table& table, dnnl_stream_t) {
    return op::is_broadcast(*b.call.d) ? owned<job>(new broadcast_job<kernels_by_number>(b, {&Kernels}))
                                       : owned<job>(new elementwise_job(b, table, Kernels));
}

inline owned<job> make_formula_job(const bound_call& b, const format_table& table, dnnl_stream_t) {
    return op::is_broadcast(*b.call.d)
               ? owned<job>(new broadcast_job<steps_by_number>(b, steps_by_number(b.call.attributes)))
               : owned<job>(new formula_job(b, table));
}

} // namespace detail

/// The row of an element-wise operator by its kernels, which may be written by hand; null: of one of one's own, whose
/// record brings it.
template <const elementwise_kernels& Kernels>
constexpr operator_row elementwise_row(const op_record* of = nullptr) {
    return {.of = of,
            .add_candidates = detail::add_elementwise_candidates,
            .make_job = detail::make_elementwise_job<Kernels>,
            .why = "one loop over the elements serves every memory format, blocks of 16 samples among them"};
}

/// The row of an operator that is an expression.
template <const op_record& Of>
struct expression_row {
    static constexpr const op_record& of = Of;
    template <class Row>
    static constexpr Row value = elementwise_row<kernels_of<*Of.formula>>(&Of);
};

/// The row of all expressions that have none of their own: fused ones, and where networks are values those of one's own.
inline constexpr operator_row any_expression{
    .add_candidates = detail::add_elementwise_candidates,
    .make_job = detail::make_formula_job,
    .why = "an expression that the compiler did not see: its nodes one after the other, some hundred elements at a "
           "time",
};

inline constexpr row_list elementwise_rows{
    expression_row<op::relu_record>{},
    expression_row<op::sigmoid_record>{},
    expression_row<op::tanh_record>{},
    expression_row<op::gelu_record>{},
    expression_row<op::silu_record>{},
    expression_row<op::leaky_relu_record>{},
    expression_row<op::elu_record>{},
    expression_row<op::hard_sigmoid_record>{},
    expression_row<op::hard_swish_record>{},
    expression_row<op::softplus_record>{},
    expression_row<op::exp_record>{},
    expression_row<op::log_record>{},
    expression_row<op::sqrt_record>{},
    expression_row<op::power_record>{},
    expression_row<op::abs_record>{},
    expression_row<op::clamp_record>{},
    expression_row<op::negate_record>{},
    expression_row<op::scale_record>{},
    expression_row<op::add_constant_record>{},
    expression_row<op::stop_gradient_record>{},
    expression_row<op::straight_through_round_record>{},
    expression_row<op::add_record>{},
    expression_row<op::multiply_record>{},
    expression_row<op::subtract_record>{},
    expression_row<op::divide_record>{},
    expression_row<op::minimum_record>{},
    expression_row<op::maximum_record>{},
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
