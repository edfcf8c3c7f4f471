// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "tile.hpp"

#include <climits>

/// What the kernels of this folder can do. They check nothing themselves and would write past their lists: none may be
/// offered, or called, for a shape that does not fit.
namespace tessera::host::kernels {

inline constexpr int largest_side =
    256; ///< of a convolution's window: as many of its rows, or columns, reach one element
inline constexpr int largest_window = static_cast<int>(
    detail::list_bytes / sizeof(detail::tap)); ///< elements of a convolution's window: a list holds as many
inline constexpr int largest_pooled = 256;     ///< elements of a pooling window: the winner is stored in one byte

namespace detail {

/// Whether elements of such extents can be counted, and their places computed, in an int.
template <class... Extents>
[[nodiscard]] constexpr bool countable(Extents... extents) noexcept {
    double product = 1;
    ((product *= static_cast<double>(extents)), ...);
    return product < INT_MAX;
}

/// padded_extent() without overflow.
[[nodiscard]] constexpr double reached(int in, int out, int kernel, int stride, int pad, int dilation) noexcept {
    const double last = (out - 1.0) * stride + (kernel - 1.0) * dilation + 1;
    const double padded = static_cast<double>(pad) + in;
    return last > padded ? last : padded;
}

} // namespace detail

/// Of conv_forward, conv_backward_data and conv_backward_weights.
[[nodiscard]] constexpr bool fits(const conv_shape& s) noexcept {
    using detail::countable;
    constexpr int rows = detail::largest_rows;
    const double height = detail::reached(s.in_height, s.out_height, s.kernel_h, s.stride_h, s.pad_top, s.dilation_h);
    const double width = detail::reached(s.in_width, s.out_width, s.kernel_w, s.stride_w, s.pad_left, s.dilation_w);
    const double gapped = s.out_width + 2.0 * detail::largest_columns;
    if (s.kernel_h > largest_side || s.kernel_w > largest_side || s.kernel_h * s.kernel_w > largest_window) {
        return false;
    }
    const int window = s.kernel_h * s.kernel_w;
    return countable(s.in_channels, height, width, block_samples) &&
           countable(s.out_channels, s.out_height, gapped, block_samples) &&
           countable(s.blocks, height) && // what the loops over rows of all blocks count
           countable(s.in_channels + 1.0 * rows, window, rows) &&
           countable(s.out_channels + 1.0 * rows, window, rows) &&
           countable(s.kernel_h, s.kernel_w + (detail::largest_columns + 1.0) * s.stride_w, 64);
}

/// Of all poolings.
[[nodiscard]] constexpr bool fits(const pool_shape& s) noexcept {
    using detail::countable;
    return static_cast<double>(s.window_d) * s.window_h * s.window_w <= largest_pooled && countable(s.planes) &&
           countable(s.lanes) &&
           countable(detail::reached(s.in_depth, s.out_depth, s.window_d, s.stride_d, s.pad_front, 1)) &&
           countable(detail::reached(s.in_height, s.out_height, s.window_h, s.stride_h, s.pad_top, 1)) &&
           countable(detail::reached(s.in_width, s.out_width, s.window_w, s.stride_w, s.pad_left, 1), block_samples);
}

/// Of linear_forward, linear_backward_data and linear_backward_weights.
[[nodiscard]] constexpr bool fits(const linear_shape& s) noexcept {
    using detail::countable;
    return countable(s.blocks, block_samples) && countable(s.inputs + 16.0, block_samples) &&
           countable(s.outputs + 1.0 * detail::largest_rows, block_samples);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
