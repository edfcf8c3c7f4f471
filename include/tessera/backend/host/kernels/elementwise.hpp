// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vector.hpp"

/// Element by element on contiguous arrays of any format. The output may be an input. Accurate to 1e-6.
namespace tessera::host::kernels {

/// y = max(x, 0); NaN stays NaN.
inline void relu_forward(const float* x, float* y, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::relu_forward(x, y, count);
    case instruction_set::avx2:
        return avx2::relu_forward(x, y, count);
    case instruction_set::portable:
        break;
    }
    return portable::relu_forward(x, y, count);
}

/// dx = 0 where y <= 0, else dy, also where y is NaN; y may be the input of the relu as well as its output.
inline void relu_backward(const float* y, const float* dy, float* dx, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::relu_backward(y, dy, dx, count);
    case instruction_set::avx2:
        return avx2::relu_backward(y, dy, dx, count);
    case instruction_set::portable:
        break;
    }
    return portable::relu_backward(y, dy, dx, count);
}

/// y = factor x.
inline void scale(const float* x, float factor, float* y, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::scale(x, factor, y, count);
    case instruction_set::avx2:
        return avx2::scale(x, factor, y, count);
    case instruction_set::portable:
        break;
    }
    return portable::scale(x, factor, y, count);
}

/// out = a + b.
inline void add(const float* a, const float* b, float* out, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::add(a, b, out, count);
    case instruction_set::avx2:
        return avx2::add(a, b, out, count);
    case instruction_set::portable:
        break;
    }
    return portable::add(a, b, out, count);
}

/// y = 1 / (1 + e^-x).
inline void sigmoid_forward(const float* x, float* y, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sigmoid_forward(x, y, count);
    case instruction_set::avx2:
        return avx2::sigmoid_forward(x, y, count);
    case instruction_set::portable:
        break;
    }
    return portable::sigmoid_forward(x, y, count);
}

/// dx = dy y (1 - y), y being the output of the sigmoid.
inline void sigmoid_backward(const float* y, const float* dy, float* dx, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sigmoid_backward(y, dy, dx, count);
    case instruction_set::avx2:
        return avx2::sigmoid_backward(y, dy, dx, count);
    case instruction_set::portable:
        break;
    }
    return portable::sigmoid_backward(y, dy, dx, count);
}

/// y = tanh x.
inline void tanh_forward(const float* x, float* y, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::tanh_forward(x, y, count);
    case instruction_set::avx2:
        return avx2::tanh_forward(x, y, count);
    case instruction_set::portable:
        break;
    }
    return portable::tanh_forward(x, y, count);
}

/// dx = dy (1 - y^2), y being the output of tanh.
inline void tanh_backward(const float* y, const float* dy, float* dx, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::tanh_backward(y, dy, dx, count);
    case instruction_set::avx2:
        return avx2::tanh_backward(y, dy, dx, count);
    case instruction_set::portable:
        break;
    }
    return portable::tanh_backward(y, dy, dx, count);
}

/// y = x Phi(x), Phi being the cumulative normal distribution (the exact form, with erf).
inline void gelu_forward(const float* x, float* y, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::gelu_forward(x, y, count);
    case instruction_set::avx2:
        return avx2::gelu_forward(x, y, count);
    case instruction_set::portable:
        break;
    }
    return portable::gelu_forward(x, y, count);
}

/// dx = dy (Phi(x) + x phi(x)), x being the input of gelu.
inline void gelu_backward(const float* x, const float* dy, float* dx, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::gelu_backward(x, dy, dx, count);
    case instruction_set::avx2:
        return avx2::gelu_backward(x, dy, dx, count);
    case instruction_set::portable:
        break;
    }
    return portable::gelu_backward(x, dy, dx, count);
}

} // namespace tessera::host::kernels
