// SPDX-License-Identifier: Apache-2.0
// Functions of one number. What cuDNN computes as the plan has it are calls of it; the others are kernels whose text is
// made of their expressions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/op/expression.hpp"
#include "tessera/op/records.hpp"

namespace tessera::cuda::detail {

template <activation::function F>
void activation_forward(const shard_call& s) {
    const index_t count = s.volume(s.output());
    to_int(count);
    s.to.add(activation{F, false, count, s.type()}, {s.value(s.input()), s.value_to(s.output())});
}

template <activation::function F>
void activation_backward(const shard_call& s) {
    const index_t count = s.volume(s.output());
    const memory_use dy = s.gradient(s.output());
    const memory_use dx = s.gradient_to(s.input());
    to_int(count);
    s.to.add(activation{F, true, count, s.type()}, {s.value(s.output()), dy, dx});
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row activation_rows[] = {
    {.of = &op::relu_record,
     .forward = detail::activation_forward<activation::function::relu>,
     .backward = detail::activation_backward<activation::function::relu>,
     .calls_forward = "cudnnActivationForward",
     .calls_backward = "cudnnActivationBackward",
     .is_relu = true},
    {.of = &op::sigmoid_record,
     .forward = detail::activation_forward<activation::function::sigmoid>,
     .backward = detail::activation_backward<activation::function::sigmoid>,
     .calls_forward = "cudnnActivationForward",
     .calls_backward = "cudnnActivationBackward"},
    {.of = &op::tanh_record,
     .forward = detail::activation_forward<activation::function::tanh>,
     .backward = detail::activation_backward<activation::function::tanh>,
     .calls_forward = "cudnnActivationForward",
     .calls_backward = "cudnnActivationBackward"},
    detail::expression_row<op::gelu_record>(
        "cuDNN's classic interface has no gelu, and cublasLt's is the approximation by tanh"),
    detail::expression_row<op::silu_record>(
        "backward of cuDNN's swish asks for input and output, and the plan has freed the output"),
    detail::expression_row<op::leaky_relu_record>(),
    detail::expression_row<op::elu_record>(),
    detail::expression_row<op::hard_sigmoid_record>(),
    detail::expression_row<op::hard_swish_record>(),
    detail::expression_row<op::softplus_record>(),
    detail::expression_row<op::exp_record>(),
    detail::expression_row<op::log_record>(),
    detail::expression_row<op::sqrt_record>(),
    detail::expression_row<op::power_record>(),
    detail::expression_row<op::abs_record>(),
    detail::expression_row<op::clamp_record>(),
    detail::expression_row<op::negate_record>(),
    detail::expression_row<op::scale_record>(),
    detail::expression_row<op::add_constant_record>(),
    detail::expression_row<op::stop_gradient_record>(),
    detail::expression_row<op::straight_through_round_record>(),
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
