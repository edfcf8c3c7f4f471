// SPDX-License-Identifier: Apache-2.0
// Which numbers dropout keeps, as op/mask.hpp says.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

// clang-format off
TESSERA_DEVICE_CODE(mask_code,

/// The mixing function of SplitMix64.
__device__ inline unsigned long long mix(unsigned long long z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

/// What all numbers of one operator in one step have in common.
__device__ inline unsigned long long mask_key(const step_values& now, long long op) {
    return mix(mix(mix(now.seed) ^ now.step) ^ static_cast<unsigned long long>(op));
}

__device__ inline bool keeps(unsigned long long key, long long index, long long percent) {
    const unsigned long long bits = mix(key ^ static_cast<unsigned long long>(index)) >> 32U;
    return bits * 100 >= static_cast<unsigned long long>(percent) << 32U;
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
