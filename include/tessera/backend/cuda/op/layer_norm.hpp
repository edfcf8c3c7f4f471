// SPDX-License-Identifier: Apache-2.0
// Layer norm.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/row_norm.hpp"
#include "tessera/op/layer_norm.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel layer_normalize{"layer_normalize", true};
inline constexpr kernel layer_statistics_gradient{"layer_statistics_gradient", true};
inline constexpr kernel layer_scale_gradient{"layer_scale_gradient", true};
inline constexpr kernel layer_input_gradient{"layer_input_gradient", true};

// clang-format off
TESSERA_KERNELS(layer_norm_code,

struct layer_norm_numbers {
    index_t rows = 0;
    index_t columns = 0; ///< elements of a row in the shard
    index_t plane = 1;   ///< to sums over channels, which a column is
};
,

struct column_of_row {
    __device__ static long long of(const layer_norm_numbers&, long long, long long i) { return i; }
};

template <class T>
__device__ void layer_normalize_of(const given<layer_norm_numbers, norm_reals>& a) {
    normalize_rows<T, column_of_row>(a);
}
TYPED_KERNEL(layer_normalize, layer_norm_numbers, norm_reals)

template <class T>
__device__ void layer_statistics_gradient_of(const given<layer_norm_numbers, norm_reals>& a) {
    row_statistics_gradient<T, column_of_row>(a);
}
TYPED_KERNEL(layer_statistics_gradient, layer_norm_numbers, norm_reals)

/// The sum of dy * normalized x of every column: a block for each. at: dy, x, statistics, to[columns].
template <class T>
__device__ void layer_scale_gradient_of(const given<layer_norm_numbers, norm_reals>& a) {
    __shared__ double shared[256];
    const long long c = blockIdx.x;
    double sum = 0;
    for (long long row = threadIdx.x; row < a.n.rows; row += blockDim.x) {
        const long long at = row * a.n.columns + c;
        const normalizer n = normalizer_of(a.at[2], row, a.n.rows, a.f.count, a.f.epsilon);
        sum += pointer<const T>(a, 0)[at] * ((pointer<const T>(a, 1)[at] - n.mean) * n.inverse);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 3)[c] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(layer_scale_gradient, layer_norm_numbers, norm_reals)

template <class T>
__device__ void layer_input_gradient_of(const given<layer_norm_numbers, norm_reals>& a) {
    row_input_gradient<T, column_of_row>(a);
}
TYPED_KERNEL(layer_input_gradient, layer_norm_numbers, norm_reals)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

kernels::layer_norm_numbers layer_numbers(const shard_call& s);
kernels::norm_reals layer_reals(const shard_call& s);

/// As of batch norm: dy stands in for what the sums do not need.
void layer_shift_gradient(const shard_call& s, const kernels::layer_norm_numbers& n, const memory_use& dy);

inline constexpr row_norm<kernels::layer_norm_numbers> layer_norm{kernels::layer_normalize,
                                                                  kernels::layer_statistics_gradient,
                                                                  kernels::layer_scale_gradient,
                                                                  kernels::layer_input_gradient,
                                                                  layer_numbers,
                                                                  layer_reals,
                                                                  layer_shift_gradient};

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row layer_norm_row{
    .of = &op::layer_norm_record,
    .forward = detail::row_norm_forward<detail::layer_norm>,
    .backward = detail::row_norm_backward<detail::layer_norm>,
    .calls_forward = "kernel:channel_statistics kernel:layer_normalize",
    .calls_backward = "kernel:layer_statistics_gradient kernel:layer_scale_gradient kernel:statistics_gradient "
                      "kernel:layer_input_gradient",
    .why = "cuDNN's classic interface has no layer norm",
    .code = kernels::layer_norm_code,
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/layer_norm.inl"
#endif

#include "tessera/base/end_header.inl"
