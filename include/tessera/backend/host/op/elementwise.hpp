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
#include "tessera/op/gate.hpp"
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

    element_job(const bound_call& b, const format_table& table);
    /// The arrays of the inputs, the output, its gradient, and of every attribute.
    void set_leaves(const float* (&from)[most_leaves]) const;

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
    void run(const run_state&) override;

private:
    const elementwise_kernels& how_;
};

/// By the nodes of a formula that was not there when the program was compiled.
class formula_job : public element_job {
public:
    formula_job(const bound_call& b, const format_table& table);
    void run(const run_state&) override;

private:
    formula_steps steps_;
    fixed_vector<float*, expression::most_inputs> to_;
};

namespace detail {

/// Whether a use of an operator makes 0 of zeros, forward and backward (0 / sqrt(0) is none); of one that is no
/// expression nobody knows.
bool keeps_zero(const op_attributes& a);

/// All operands in one format, which is any that has its elements' zeros where it is longer than they are; plain where
/// inputs are broadcast.
void add_elementwise_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out);

template <const elementwise_kernels& Kernels>
owned<job> make_elementwise_job(const bound_call& b, const format_table& table, dnnl_stream_t) {
    return op::is_broadcast(*b.call.d) ? owned<job>(new broadcast_job<kernels_by_number>(b, {&Kernels}))
                                       : owned<job>(new elementwise_job(b, table, Kernels));
}

owned<job> make_formula_job(const bound_call& b, const format_table& table, dnnl_stream_t);

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

/// The row of all expressions that have none of their own: fused ones, and where networks are values those of one's
/// own.
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
    expression_row<op::silu_gate_record>{},
    expression_row<op::gelu_gate_record>{},
    expression_row<op::relu_gate_record>{},
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/elementwise.inl"
#endif

#include "tessera/base/end_header.inl"
