// SPDX-License-Identifier: Apache-2.0
// The order in which a row's numbers are chosen: experts by their gates, and what keep_top keeps.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

// clang-format off
TESSERA_DEVICE_CODE(row_order_code,

/// How many numbers of a row come before number e: larger ones, and equal ones with a lower number.
template <class T>
__device__ long long larger_before(const T* row, long long count, long long e) {
    const float own = row[e];
    long long before = 0;
    for (long long other = 0; other < count; ++other) {
        const float x = row[other];
        before += x > own || (x == own && other < e) ? 1 : 0;
    }
    return before;
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
