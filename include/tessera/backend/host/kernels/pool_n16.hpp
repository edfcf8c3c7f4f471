// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "limits.hpp"
#include "vector.hpp"

/// Pooling on [planes][H][W][lanes]: blocks of samples or of channels, channels last, or planes. What is too large is
/// in limits.hpp.
namespace tessera::host::kernels {

/// y = the largest element of each window (the first of equals), then clipped at zero when relu; winner = its index in
/// the window, row by row, one byte for each element of y; nullptr where no backward pass follows. NaN is larger than
/// everything, and the last of several wins.
inline void max_pool_forward(const float* x, float* y, std::uint8_t* winner, const pool_shape& shape,
                             bool relu) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::max_pool_forward(x, y, winner, shape, relu);
    case instruction_set::avx2:
        return avx2::max_pool_forward(x, y, winner, shape, relu);
    case instruction_set::portable:
        break;
    }
    return portable::max_pool_forward(x, y, winner, shape, relu);
}

/// dx = dy sent to the winners, zero elsewhere.
inline void max_pool_backward(const float* dy, const std::uint8_t* winner, float* dx,
                              const pool_shape& shape) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::max_pool_backward(dy, winner, dx, shape);
    case instruction_set::avx2:
        return avx2::max_pool_backward(dy, winner, dx, shape);
    case instruction_set::portable:
        break;
    }
    return portable::max_pool_backward(dy, winner, dx, shape);
}

/// y = the mean of each window; count_padding divides by the whole window, else by the elements inside the input.
/// Global average pooling is one window as large as the plane.
inline void average_pool_forward(const float* x, float* y, const pool_shape& shape, bool count_padding) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::average_pool_forward(x, y, shape, count_padding);
    case instruction_set::avx2:
        return avx2::average_pool_forward(x, y, shape, count_padding);
    case instruction_set::portable:
        break;
    }
    return portable::average_pool_forward(x, y, shape, count_padding);
}

/// dx = the gradient of average_pool_forward.
inline void average_pool_backward(const float* dy, float* dx, const pool_shape& shape, bool count_padding) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::average_pool_backward(dy, dx, shape, count_padding);
    case instruction_set::avx2:
        return avx2::average_pool_backward(dy, dx, shape, count_padding);
    case instruction_set::portable:
        break;
    }
    return portable::average_pool_backward(dy, dx, shape, count_padding);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
