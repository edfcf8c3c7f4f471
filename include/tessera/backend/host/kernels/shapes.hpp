// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tessera/base/box.hpp"
#include "tessera/op/update_formulas.hpp"

#include "instruction_set.hpp"

/// Shapes of the host kernels, as plain values, and the scratch memory that a kernel wants. What is too large for them
/// is in limits.hpp. Attention has all of that in attention_shape.hpp.
namespace tessera::host::kernels {

/// A convolution or its gradients. x is [blocks][in_channels][in_height][in_width][16], y likewise with out_*; weights
/// are OIHW. Output (h, w) reads rows h*stride_h - pad_top + k*dilation_h; what lies outside counts as zero. Bottom and
/// right padding follow from the output extents.
struct conv_shape {
    int blocks = 0; ///< of 16 samples
    int in_channels = 0, in_height = 0, in_width = 0;
    int out_channels = 0, out_height = 0, out_width = 0;
    int kernel_h = 1, kernel_w = 1;
    int stride_h = 1, stride_w = 1;
    int pad_top = 0, pad_left = 0;
    int dilation_h = 1, dilation_w = 1;
};

/// Pooling over planes [planes][in_depth][in_height][in_width][lanes]; in blocks of samples planes = blocks * channels.
/// Images have a depth of 1. Windows are clipped to the input, and each must touch it.
struct pool_shape {
    int planes = 0;
    int in_depth = 1, out_depth = 1, window_d = 1, stride_d = 1, pad_front = 0;
    int in_height = 0, in_width = 0;
    int out_height = 0, out_width = 0;
    int window_h = 1, window_w = 1;
    int stride_h = 1, stride_w = 1;
    int pad_top = 0, pad_left = 0;
    int lanes = 16; ///< elements side by side: 16 samples, 16 channels, all channels, or one; averages are of 16
};

/// A fully connected layer: y[blocks][outputs][16] = weights[outputs][inputs] x[blocks][inputs][16] + bias.
struct linear_shape {
    int blocks = 0; ///< of 16 samples
    int inputs = 0, outputs = 0;
};

namespace formulas {

inline double square_root(double x) noexcept { return std::sqrt(x); }
TESSERA_UPDATE_NUMBERS(inline)

} // namespace formulas

/// Which formula of op/update_formulas.hpp.
enum class update_formula : std::uint8_t {
    sgd,
    momentum,
    nesterov,
    adam,
    adamw,
    rmsprop,
    rmsprop_momentum,
    rmsprop_centered,
    rmsprop_centered_momentum,
    lars,
    lars_momentum,
    lars_nesterov
};

/// What an optimizer's step works on. A destination may be `weights`.
struct update_arrays {
    const float* weights = nullptr;
    const float* const* gradients = nullptr; ///< summed from left to right
    int gradient_count = 0;
    float* states = nullptr; ///< of every state in turn those of all weights
    float* const* destinations = nullptr;
    int destination_count = 0;
    std::ptrdiff_t count = 0;      ///< weights
    std::ptrdiff_t state_step = 0; ///< from a weight's state to its next state
};

/// The numbers of a step, and what the summed gradient is multiplied by.
struct update_step_numbers {
    formulas::update_numbers<float> numbers{};
    float gradient_scale = 1;
    bool averages = false; ///< behind the states there are averages of the weights
    bool prunes = false;   ///< weights of -0 stay as they are
};

/// Sums of squares of a parameter's weights and of its gradient or update: see trust_of() in op/update_formulas.hpp.
struct update_squares {
    double weights = 0;
    double measured = 0;
};

namespace detail {

inline constexpr std::size_t most_rows = 12;         ///< rows of the largest register tile
inline constexpr std::size_t most_columns = 8;       ///< columns of the largest register tile
inline constexpr std::size_t list_bytes = 64 * 1024; ///< room for one list of taps

[[nodiscard]] constexpr std::size_t round_up(std::size_t value, std::size_t to) noexcept {
    return (value + to - 1) / to * to;
}
[[nodiscard]] constexpr int largest(int a, int b) noexcept { return a > b ? a : b; }
[[nodiscard]] constexpr int smallest(int a, int b) noexcept { return a < b ? a : b; }

/// Rows (or columns) that a padded copy of the input needs so that no window leaves it.
[[nodiscard]] constexpr int padded_extent(int in, int out, int kernel, int stride, int pad, int dilation) noexcept {
    return largest(pad + in, (out - 1) * stride + (kernel - 1) * dilation + 1);
}
[[nodiscard]] constexpr int padded_height(const conv_shape& s) noexcept {
    return padded_extent(s.in_height, s.out_height, s.kernel_h, s.stride_h, s.pad_top, s.dilation_h);
}
[[nodiscard]] constexpr int padded_width(const conv_shape& s) noexcept {
    return padded_extent(s.in_width, s.out_width, s.kernel_w, s.stride_w, s.pad_left, s.dilation_w);
}
[[nodiscard]] constexpr bool needs_padding(const conv_shape& s) noexcept {
    return padded_height(s) != s.in_height || padded_width(s) != s.in_width;
}
[[nodiscard]] constexpr std::size_t padded_input_bytes(const conv_shape& s) noexcept {
    return needs_padding(s) ? to_size(s.in_channels) * to_size(padded_height(s)) * to_size(padded_width(s)) * 64 : 0;
}
[[nodiscard]] constexpr std::size_t weight_count(const conv_shape& s) noexcept {
    return to_size(s.out_channels) * to_size(s.in_channels) * to_size(s.kernel_h) * to_size(s.kernel_w);
}
/// Bytes of weights packed in groups of at most most_rows rows, the last group filled up.
[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t rows, std::size_t columns) noexcept {
    return round_up((rows + most_rows) * columns * sizeof(float), 64);
}

} // namespace detail

/// Bytes of scratch that conv_forward wants; any alignment of at least 64 bytes.
[[nodiscard]] constexpr std::size_t conv_forward_scratch(const conv_shape& s) noexcept {
    return detail::list_bytes + detail::padded_input_bytes(s) + (to_size(s.out_channels) + detail::most_rows) * 64 +
           detail::packed_bytes(to_size(s.out_channels),
                                to_size(s.in_channels) * to_size(s.kernel_h) * to_size(s.kernel_w));
}

/// Bytes of scratch that conv_backward_data wants.
[[nodiscard]] constexpr std::size_t conv_backward_data_scratch(const conv_shape& s) noexcept {
    return detail::list_bytes +
           detail::packed_bytes(to_size(s.in_channels),
                                to_size(s.out_channels) * to_size(s.kernel_h) * to_size(s.kernel_w)) +
           to_size(s.out_channels) * to_size(s.out_height) * (to_size(s.out_width) + 2 * detail::most_columns) * 64 +
           2 * detail::most_columns * 64;
}

/// Bytes of scratch that conv_backward_weights wants: 16 partial sums for each weight, and the padded input.
[[nodiscard]] constexpr std::size_t conv_backward_weights_scratch(const conv_shape& s) noexcept {
    return detail::list_bytes + detail::padded_input_bytes(s) + detail::weight_count(s) * 64 +
           to_size(s.out_channels) * 64;
}

/// Bytes of scratch that linear_backward_weights wants: the input, transposed.
[[nodiscard]] constexpr std::size_t linear_backward_weights_scratch(const linear_shape& s) noexcept {
    return to_size(s.blocks) * 64 * detail::round_up(to_size(s.inputs), 16) + 64;
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
