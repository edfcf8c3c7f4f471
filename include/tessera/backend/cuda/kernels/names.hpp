// SPDX-License-Identifier: Apache-2.0
// The kernels of our own: their names, and the numbers that they are given. What they do is in kernels/*.inl.
#pragma once

#include "tessera/base/box.hpp"

namespace tessera::cuda {

inline constexpr int kernel_pointers = 8;
inline constexpr int kernel_integers = 20;
inline constexpr int kernel_reals = 8;

/// Arguments besides pointers. Every kernel takes the same structure, so that a launch is the same code for all.
struct kernel_numbers {
    index_t n[kernel_integers] = {};
    double f[kernel_reals] = {};
};

/// What a kernel is launched with.
struct kernel_arguments {
    void* at[kernel_pointers] = {};
    kernel_numbers numbers;
};

/// What changes from step to step, in device memory so that no launch depends on it.
struct step_values {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    double learning_rate = 0;
    double correction1 = 1; ///< Adam: 1 - beta1^t
    double correction2 = 1;
};

// clang-format off
// Every kernel: plain ones, and typed ones, of which there is a second one for activations of bf16 (its name ends in _bf16).
#define TESSERA_KERNELS(plain, typed) \
    plain(strided_copy_f32) plain(strided_copy_f64) plain(strided_copy_i32) plain(strided_copy_bf16) \
    plain(round_to_bf16) plain(widen_bf16) plain(add_bias_bf16) \
    typed(add) typed(multiply) typed(gelu_forward) typed(gelu_backward) typed(dropout) \
    typed(pool_forward) typed(pool_maximum_backward) typed(pool_average_backward) typed(spread) \
    typed(column_sums) typed(channel_statistics) typed(normalize) typed(statistics_gradient) typed(normalize_gradient) \
    plain(add_channel_parts) plain(running_statistics) plain(running_moments) \
    typed(row_maximum) typed(row_exponentials) typed(row_loss) typed(softmax_gradient) typed(row_leader) \
    typed(softmax_forward) typed(softmax_total_gradient) typed(softmax_input_gradient) \
    typed(layer_normalize) typed(layer_statistics_gradient) typed(layer_scale_gradient) typed(layer_input_gradient) \
    typed(look_up) typed(look_up_gradient) typed(add_table) typed(route_forward) typed(route_gradient) \
    typed(sum_slices) plain(sum_slices_f64) plain(squares_partial) plain(squares_total) plain(count_not_finite) \
    plain(sgd_update) plain(adam_update)
// clang-format on

enum class kernel_id : std::uint8_t {
#define TESSERA_KERNEL(name) name,
    TESSERA_KERNELS(TESSERA_KERNEL, TESSERA_KERNEL)
#undef TESSERA_KERNEL
};

inline constexpr int kernel_count = static_cast<int>(kernel_id::adam_update) + 1;

constexpr const char* to_text(kernel_id k) {
    constexpr const char* names[] = {
#define TESSERA_KERNEL(name) #name,
        TESSERA_KERNELS(TESSERA_KERNEL, TESSERA_KERNEL)
#undef TESSERA_KERNEL
    };
    return names[static_cast<int>(k)];
}

/// Whether a kernel has a second form for activations of bf16.
constexpr bool has_bf16(kernel_id k) {
    constexpr bool typed[] = {
#define TESSERA_PLAIN(name) false,
#define TESSERA_TYPED(name) true,
        TESSERA_KERNELS(TESSERA_PLAIN, TESSERA_TYPED)
#undef TESSERA_TYPED
#undef TESSERA_PLAIN
    };
    return typed[static_cast<int>(k)];
}

} // namespace tessera::cuda
