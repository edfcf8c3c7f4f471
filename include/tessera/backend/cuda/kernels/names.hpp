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

enum class kernel_id : std::uint8_t {
    strided_copy_f32,
    strided_copy_f64,
    strided_copy_i32,
    add,
    multiply,
    gelu_forward,
    gelu_backward,
    dropout,
    pool_forward,
    pool_maximum_backward,
    pool_average_backward,
    spread,
    column_sums,
    channel_statistics,
    normalize,
    statistics_gradient,
    normalize_gradient,
    running_statistics,
    row_maximum,
    row_exponentials,
    row_loss,
    softmax_gradient,
    softmax_forward,
    softmax_total_gradient,
    softmax_input_gradient,
    layer_normalize,
    layer_statistics_gradient,
    layer_scale_gradient,
    layer_input_gradient,
    look_up,
    look_up_gradient,
    add_table,
    route_forward,
    route_gradient,
    sum_slices,
    squares_partial,
    squares_total,
    sgd_update,
    adam_update,
};

inline constexpr int kernel_count = static_cast<int>(kernel_id::adam_update) + 1;

constexpr const char* to_text(kernel_id k) {
    constexpr const char* names[] = {"strided_copy_f32",
                                     "strided_copy_f64",
                                     "strided_copy_i32",
                                     "add",
                                     "multiply",
                                     "gelu_forward",
                                     "gelu_backward",
                                     "dropout",
                                     "pool_forward",
                                     "pool_maximum_backward",
                                     "pool_average_backward",
                                     "spread",
                                     "column_sums",
                                     "channel_statistics",
                                     "normalize",
                                     "statistics_gradient",
                                     "normalize_gradient",
                                     "running_statistics",
                                     "row_maximum",
                                     "row_exponentials",
                                     "row_loss",
                                     "softmax_gradient",
                                     "softmax_forward",
                                     "softmax_total_gradient",
                                     "softmax_input_gradient",
                                     "layer_normalize",
                                     "layer_statistics_gradient",
                                     "layer_scale_gradient",
                                     "layer_input_gradient",
                                     "look_up",
                                     "look_up_gradient",
                                     "add_table",
                                     "route_forward",
                                     "route_gradient",
                                     "sum_slices",
                                     "squares_partial",
                                     "squares_total",
                                     "sgd_update",
                                     "adam_update"};
    return names[static_cast<int>(k)];
}

} // namespace tessera::cuda
