// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Sums of several arrays, in a fixed order.
namespace tessera::host::kernels {

/// Each destination[i] = sources[0][i] + sources[1][i] + ..., left to right; a destination may be a source.
inline void sum_arrays(const float* const* sources, int source_count, float* const* destinations, int destination_count,
                       std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sum_arrays(sources, source_count, destinations, destination_count, count);
    case instruction_set::avx2:
        return avx2::sum_arrays(sources, source_count, destinations, destination_count, count);
    case instruction_set::portable:
        break;
    }
    return portable::sum_arrays(sources, source_count, destinations, destination_count, count);
}

/// The sum of x[i]^2, in double.
[[nodiscard]] inline double sum_of_squares(const float* x, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sum_of_squares(x, count);
    case instruction_set::avx2:
        return avx2::sum_of_squares(x, count);
    case instruction_set::portable:
        break;
    }
    return portable::sum_of_squares(x, count);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
