// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Softmax cross entropy with integer labels. gradient = (softmax - one-hot) * gradient_scale, or nullptr; it may be
/// the logits. losses has one element a sample. A label outside [0, classes) is undefined.
namespace tessera::host::kernels {

/// Plain rows [rows][classes].
inline void cross_entropy_rows(const float* logits, const std::int32_t* labels, float* losses, float* gradient,
                               std::ptrdiff_t rows, std::ptrdiff_t classes, float gradient_scale) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::cross_entropy_rows(logits, labels, losses, gradient, rows, classes, gradient_scale);
    case instruction_set::avx2:
        return avx2::cross_entropy_rows(logits, labels, losses, gradient, rows, classes, gradient_scale);
    case instruction_set::portable:
        break;
    }
    return portable::cross_entropy_rows(logits, labels, losses, gradient, rows, classes, gradient_scale);
}

/// Blocks [ceil(samples/16)][classes][16]; samples that fill up the last block get a zero gradient.
inline void cross_entropy_blocked(const float* logits, const std::int32_t* labels, float* losses, float* gradient,
                                  std::ptrdiff_t samples, std::ptrdiff_t classes, float gradient_scale) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::cross_entropy_blocked(logits, labels, losses, gradient, samples, classes, gradient_scale);
    case instruction_set::avx2:
        return avx2::cross_entropy_blocked(logits, labels, losses, gradient, samples, classes, gradient_scale);
    case instruction_set::portable:
        break;
    }
    return portable::cross_entropy_blocked(logits, labels, losses, gradient, samples, classes, gradient_scale);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
