// SPDX-License-Identifier: Apache-2.0
// Functions of one number. Those that cuDNN has are calls of it; the others are kernels of our own, made from one row each.
#pragma once

#include "tessera/backend/cuda/kernels/functions.hpp"
#include "tessera/backend/cuda/numbers.hpp"
#include "tessera/op/records.hpp"

// FUNCTION(name of the record, argument of the slope, value of x, slope, why it is not a vendor's): CUDA text, of floats. The slope is a function of
// what the record says that the gradient reads: x, or the result y. A comma stands between parentheses.
// clang-format off
#define TESSERA_OWN_FUNCTIONS(FUNCTION) \
    FUNCTION(gelu, x, \
             x * 0.5f * erfcf(-x * 0.70710678118654752440f), \
             0.5f * erfcf(-x * 0.70710678118654752440f) + x * expf(-x * x / 2) * 0.39894228040143267794f, \
             "cuDNN's classic interface has no gelu, and cublasLt's is the approximation by tanh") \
    FUNCTION(silu, x, \
             x / (1 + expf(-x)), \
             (1 + x - x / (1 + expf(-x))) / (1 + expf(-x)), \
             "backward of cuDNN's swish asks for input and output, and the plan has freed the output")
// clang-format on

namespace tessera::cuda::kernels {

// clang-format off
// NOLINTBEGIN(bugprone-macro-parentheses): they are expressions of another language, and words
#define TESSERA_FUNCTION_KERNELS(name, argument, value_of_x, slope_of_argument, reason) \
    inline constexpr kernel name##_forward{#name "_forward", true}; \
    inline constexpr kernel name##_backward{#name "_backward", true}; \
    TESSERA_DEVICE_CODE(name##_code, \
        struct name##_function { \
            __device__ static float value(float x) { return value_of_x; } \
            __device__ static float slope(float argument) { return slope_of_argument; } \
        }; \
        template <class T> \
        __device__ void name##_forward_of(const arguments& a) { function_forward<name##_function, T>(a); } \
        TYPED_KERNEL(name##_forward) \
        template <class T> \
        __device__ void name##_backward_of(const arguments& a) { function_backward<name##_function, T>(a); } \
        TYPED_KERNEL(name##_backward))
// NOLINTEND(bugprone-macro-parentheses)
// clang-format on
TESSERA_OWN_FUNCTIONS(TESSERA_FUNCTION_KERNELS)
#undef TESSERA_FUNCTION_KERNELS

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

template <const kernel& Kernel>
void function_forward(const shard_call& s) {
    const index_t count = s.volume(s.output());
    s.to.launch(Kernel, {s.value(s.input()), s.value_to(s.output())}, count_of(count), count);
}

template <const kernel& Kernel>
void function_backward(const shard_call& s) {
    const index_t count = s.volume(s.output());
    const bool by_result = has(s.d.operands[s.input()].gradient_reads, s.output());
    s.to.launch(Kernel, {s.value(by_result ? s.output() : s.input()), s.gradient(s.output()), s.gradient_to(s.input())},
                count_of(count), count);
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

// clang-format off
// NOLINTBEGIN(bugprone-macro-parentheses)
#define TESSERA_FUNCTION_ROW(name, argument, value_of_x, slope_of_argument, reason) \
    {.of = &op::name##_record, \
     .forward = detail::function_forward<kernels::name##_forward>, \
     .backward = detail::function_backward<kernels::name##_backward>, \
     .calls_forward = "kernel:" #name "_forward", \
     .calls_backward = "kernel:" #name "_backward", \
     .why = reason, \
     .code = kernels::name##_code},
// NOLINTEND(bugprone-macro-parentheses)
// clang-format on

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
    TESSERA_OWN_FUNCTIONS(TESSERA_FUNCTION_ROW)};
#undef TESSERA_FUNCTION_ROW
#undef TESSERA_OWN_FUNCTIONS

} // namespace tessera::cuda
