// SPDX-License-Identifier: Apache-2.0
// Copies of boxes, and numbers from one type to another.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel strided_copy_f32{"strided_copy_f32"};
inline constexpr kernel strided_copy_f64{"strided_copy_f64"};
inline constexpr kernel strided_copy_i32{"strided_copy_i32"};
inline constexpr kernel strided_copy_bf16{"strided_copy_bf16"};
inline constexpr kernel round_to_bf16{"round_to_bf16"};
inline constexpr kernel widen_bf16{"widen_bf16"};

// clang-format off
TESSERA_DEVICE_CODE(copy_code,

/// Copies a box between dense arrays. at: from, to. n: 5 counts, 5 strides of from, 5 of to, then 0 overwrite, 1 add, 2
/// larger.
template <class T>
__device__ void strided_copy(const arguments& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    const long long count = a.n[0] * a.n[1] * a.n[2] * a.n[3] * a.n[4];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long source = 0;
        long long target = 0;
        for (int d = 4; d >= 0; --d) {
            const long long x = rest % a.n[d];
            rest /= a.n[d];
            source += x * a.n[5 + d];
            target += x * a.n[10 + d];
        }
        const T value = from[source];
        if (a.n[15] == 0) {
            to[target] = value;
        } else if (a.n[15] == 1) {
            to[target] += value;
        } else {
            to[target] = to[target] < value || value != value ? value : to[target];
        }
    }
}

KERNEL(strided_copy_f32) { strided_copy<float>(a); }
KERNEL(strided_copy_f64) { strided_copy<double>(a); }
KERNEL(strided_copy_i32) { strided_copy<int>(a); }
KERNEL(strided_copy_bf16) { strided_copy<bf16>(a); }

/// at: floats, bf16. n: count.
KERNEL(round_to_bf16) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<bf16>(a, 1)[i] = pointer<const float>(a, 0)[i];
    }
}

/// at: bf16, floats. n: count.
KERNEL(widen_bf16) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<float>(a, 1)[i] = pointer<const bf16>(a, 0)[i];
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
