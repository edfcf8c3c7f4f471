// SPDX-License-Identifier: Apache-2.0
// Functions of one number as kernels: op/activation.hpp says which. F has the value, and the slope by what backward reads.
#pragma once

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

// clang-format off
TESSERA_DEVICE_CODE(function_code,

/// at: x, to. n: count.
template <class F, class T>
__device__ void function_forward(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = F::value(x[i]);
    }
}

/// at: x or y, dy, to. n: count.
template <class F, class T>
__device__ void function_backward(const arguments& a) {
    const T* from = pointer<const T>(a, 0);
    const T* dy = pointer<const T>(a, 1);
    T* to = pointer<T>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = dy[i] * F::slope(from[i]);
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels
