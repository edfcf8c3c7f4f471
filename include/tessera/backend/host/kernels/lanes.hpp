// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Sums over the lanes of vectors and over planes, in a fixed order.
namespace tessera::host::kernels::detail {

/// out[i] = (accumulate ? out[i] : 0) + the sum of the 16 lanes of lanes[i].
inline void sum_lanes(const float* lanes, float* out, std::ptrdiff_t count, bool accumulate) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sum_lanes(lanes, out, count, accumulate);
    case instruction_set::avx2:
        return avx2::sum_lanes(lanes, out, count, accumulate);
    case instruction_set::portable:
        break;
    }
    return portable::sum_lanes(lanes, out, count, accumulate);
}

/// lanes[row][16] = (accumulate ? what is there : 0) + the sum of the row's vectors.
inline void sum_planes(const float* dy, float* lanes, int rows, std::ptrdiff_t row_stride, std::ptrdiff_t count,
                       bool accumulate) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sum_planes(dy, lanes, rows, row_stride, count, accumulate);
    case instruction_set::avx2:
        return avx2::sum_planes(dy, lanes, rows, row_stride, count, accumulate);
    case instruction_set::portable:
        break;
    }
    return portable::sum_planes(dy, lanes, rows, row_stride, count, accumulate);
}

} // namespace tessera::host::kernels::detail

#include "tessera/base/end_header.inl"
