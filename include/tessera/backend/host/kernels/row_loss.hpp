// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Parts of a softmax and of its cross-entropy, over one row.
namespace tessera::host::kernels {

/// The largest number; NaN if one is NaN, minus infinity of none.
inline float row_maximum(const float* x, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::row_maximum(x, count);
    case instruction_set::avx2:
        return avx2::row_maximum(x, count);
    case instruction_set::portable:
        break;
    }
    return portable::row_maximum(x, count);
}

/// The sum of e^(x - top); `each`: where they go, or null.
inline float row_exponentials(const float* x, float* each, std::ptrdiff_t count, float top) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::row_exponentials(x, each, count, top);
    case instruction_set::avx2:
        return avx2::row_exponentials(x, each, count, top);
    case instruction_set::portable:
        break;
    }
    return portable::row_exponentials(x, each, count, top);
}

/// y = e^(x - top) * factor; y may be x.
inline void row_softmax(const float* x, float* y, std::ptrdiff_t count, float top, float factor) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::row_softmax(x, y, count, top, factor);
    case instruction_set::avx2:
        return avx2::row_softmax(x, y, count, top, factor);
    case instruction_set::portable:
        break;
    }
    return portable::row_softmax(x, y, count, top, factor);
}

/// y = x * factor; y may be x.
inline void row_scale(const float* x, float* y, std::ptrdiff_t count, float factor) noexcept {
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

/// The sum of a * b.
inline float row_product(const float* a, const float* b, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::row_product(a, b, count);
    case instruction_set::avx2:
        return avx2::row_product(a, b, count);
    case instruction_set::portable:
        break;
    }
    return portable::row_product(a, b, count);
}

/// dx = y * (dy - sum).
inline void row_softmax_gradient(const float* y, const float* dy, float* dx, std::ptrdiff_t count, float sum) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::row_softmax_gradient(y, dy, dx, count, sum);
    case instruction_set::avx2:
        return avx2::row_softmax_gradient(y, dy, dx, count, sum);
    case instruction_set::portable:
        break;
    }
    return portable::row_softmax_gradient(y, dy, dx, count, sum);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
