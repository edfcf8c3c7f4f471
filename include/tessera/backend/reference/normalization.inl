// SPDX-License-Identifier: Apache-2.0
// Bodies of normalization.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/normalization.hpp"

namespace tessera::reference::detail {

TESSERA_INLINE row_moments::row_moments(const double* sum, index_t apart, index_t count, double epsilon) {
    mean = sum[0] / static_cast<double>(count);
    const double variance = sum[apart] / static_cast<double>(count) - mean * mean;
    inverse = 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
