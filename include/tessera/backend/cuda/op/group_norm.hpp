// SPDX-License-Identifier: Apache-2.0
// Group norm: layer norm with a group of a sample's channels for a row.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/row_norm.hpp"
#include "tessera/op/group_norm.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel group_normalize{"group_normalize", true};
inline constexpr kernel group_statistics_gradient{"group_statistics_gradient", true};
inline constexpr kernel group_scale_gradient{"group_scale_gradient", true};
inline constexpr kernel group_input_gradient{"group_input_gradient", true};

// clang-format off
TESSERA_DEVICE_CODE(group_norm_code,

/// The channel, among the shard's, of element `i` of a row. n of all of group norm: rows, elements of a row, elements
/// of a channel's plane, groups of a sample. f: elements of a whole row, epsilon.
struct channel_in_groups {
    __device__ static long long of(const arguments& a, long long row, long long i) {
        return (row % a.n[3]) * (a.n[1] / a.n[2]) + i / a.n[2];
    }
};

template <class T>
__device__ void group_normalize_of(const arguments& a) { normalize_rows<T, channel_in_groups>(a); }
TYPED_KERNEL(group_normalize)

template <class T>
__device__ void group_statistics_gradient_of(const arguments& a) { row_statistics_gradient<T, channel_in_groups>(a); }
TYPED_KERNEL(group_statistics_gradient)

/// The sum of dy * normalized x of every channel, or (n[4]) of dy alone: a block for each. at: dy, x, statistics,
/// to[channels].
template <class T>
__device__ void group_scale_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long together = a.n[1] / a.n[2];
    const long long group = blockIdx.x / together;
    const long long own = blockIdx.x % together;
    const long long samples = a.n[0] / a.n[3];
    double sum = 0;
    for (long long i = threadIdx.x; i < samples * a.n[2]; i += blockDim.x) {
        const long long row = i / a.n[2] * a.n[3] + group;
        const long long at = (row * together + own) * a.n[2] + i % a.n[2];
        if (a.n[4] != 0) {
            sum += pointer<const T>(a, 0)[at];
        } else {
            const normalizer n = normalizer_of(a.at[2], row, a.n[0], a.f[0], a.f[1]);
            sum += pointer<const T>(a, 0)[at] * ((pointer<const T>(a, 1)[at] - n.mean) * n.inverse);
        }
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 3)[blockIdx.x] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(group_scale_gradient)

template <class T>
__device__ void group_input_gradient_of(const arguments& a) { row_input_gradient<T, channel_in_groups>(a); }
TYPED_KERNEL(group_input_gradient)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

kernel_numbers group_numbers(const shard_call& s);

/// dy stands in for what is not read.
void group_shift_gradient(const shard_call& s, const kernel_numbers& n, const memory_use& dy);

inline constexpr row_norm group_norm{kernels::group_normalize,
                                     kernels::group_statistics_gradient,
                                     kernels::group_scale_gradient,
                                     kernels::group_input_gradient,
                                     group_numbers,
                                     group_shift_gradient};

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row group_norm_row{
    .of = &op::group_norm_record,
    .forward = detail::row_norm_forward<detail::group_norm>,
    .backward = detail::row_norm_backward<detail::group_norm>,
    .calls_forward = "kernel:channel_statistics kernel:group_normalize",
    .calls_backward = "kernel:group_statistics_gradient kernel:group_scale_gradient kernel:group_input_gradient",
    .why = "cuDNN's classic interface has no group norm",
    .code = kernels::group_norm_code,
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/group_norm.inl"
#endif

#include "tessera/base/end_header.inl"
