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
TESSERA_KERNELS(copy_code,

/// A box of both arrays, from where the pointers are.
struct copy_numbers {
    index_t count[5] = {};
    index_t from[5] = {}; ///< strides
    index_t to[5] = {};
    index_t how = 0; ///< 0 overwrite, 1 add, 2 the larger
};
,

/// Copies a box between dense arrays. at: from, to.
template <class T>
__device__ void strided_copy(const given<copy_numbers>& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    const long long count = a.n.count[0] * a.n.count[1] * a.n.count[2] * a.n.count[3] * a.n.count[4];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long source = 0;
        long long target = 0;
        for (int d = 4; d >= 0; --d) {
            const long long x = rest % a.n.count[d];
            rest /= a.n.count[d];
            source += x * a.n.from[d];
            target += x * a.n.to[d];
        }
        const T value = from[source];
        if (a.n.how == 0) {
            to[target] = value;
        } else if (a.n.how == 1) {
            to[target] += value;
        } else {
            to[target] = to[target] < value || value != value ? value : to[target];
        }
    }
}

KERNEL(strided_copy_f32, copy_numbers) { strided_copy<float>(a); }
KERNEL(strided_copy_f64, copy_numbers) { strided_copy<double>(a); }
KERNEL(strided_copy_i32, copy_numbers) { strided_copy<int>(a); }
KERNEL(strided_copy_bf16, copy_numbers) { strided_copy<bf16>(a); }

/// at: floats, bf16.
KERNEL(round_to_bf16, count_numbers) {
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        pointer<bf16>(a, 1)[i] = pointer<const float>(a, 0)[i];
    }
}

/// at: bf16, floats.
KERNEL(widen_bf16, count_numbers) {
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        pointer<float>(a, 1)[i] = pointer<const bf16>(a, 0)[i];
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
