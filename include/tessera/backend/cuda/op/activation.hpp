// SPDX-License-Identifier: Apache-2.0
// Functions of one number. Those that cuDNN has are calls of it; the others are kernels whose text is made of their expressions.
#pragma once

#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/op/expression.hpp"
#include "tessera/op/records.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel gelu_forward{"gelu_forward", true};
inline constexpr kernel gelu_backward{"gelu_backward", true};
inline constexpr kernel silu_forward{"silu_forward", true};
inline constexpr kernel silu_backward{"silu_backward", true};

} // namespace tessera::cuda::kernels

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

template <const kernel& Kernel, int Which>
void expression_pass(const shard_call& s) {
    launch_expression(s, Kernel, Which);
}

/// The row of an operator of one input that is an expression.
template <const op_record& Of, const kernel& Forward, const kernel& Backward>
constexpr operator_row expression_row(const char* calls_forward, const char* calls_backward, const char* why) {
    return {.of = &Of,
            .forward = expression_pass<Forward, expression::the_result>,
            .backward = expression_pass<Backward, 0>,
            .calls_forward = calls_forward,
            .calls_backward = calls_backward,
            .why = why,
            .text = [] { return kernels_text(Of.name, *Of.formula); }};
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
    detail::expression_row<op::gelu_record, kernels::gelu_forward, kernels::gelu_backward>(
        "kernel:gelu_forward", "kernel:gelu_backward",
        "cuDNN's classic interface has no gelu, and cublasLt's is the approximation by tanh"),
    detail::expression_row<op::silu_record, kernels::silu_forward, kernels::silu_backward>(
        "kernel:silu_forward", "kernel:silu_backward",
        "backward of cuDNN's swish asks for input and output, and the plan has freed the output"),
};

} // namespace tessera::cuda
