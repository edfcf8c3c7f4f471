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
TESSERA_KERNELS(group_norm_code,

struct group_norm_numbers {
    index_t rows = 0;
    index_t columns = 0; ///< elements of a row in the shard
    index_t plane = 0;   ///< elements of a channel
    index_t groups = 0;  ///< of a sample
    index_t of_dy = 0;   ///< sums of dy alone
};
,

/// The channel, among the shard's, of element `i` of a row.
struct channel_in_groups {
    __device__ static long long of(const group_norm_numbers& n, long long row, long long i) {
        return (row % n.groups) * (n.columns / n.plane) + i / n.plane;
    }
};

template <class T>
__device__ void group_normalize_of(const given<group_norm_numbers, norm_reals>& a) {
    normalize_rows<T, channel_in_groups>(a);
}
TYPED_KERNEL(group_normalize, group_norm_numbers, norm_reals)

template <class T>
__device__ void group_statistics_gradient_of(const given<group_norm_numbers, norm_reals>& a) {
    row_statistics_gradient<T, channel_in_groups>(a);
}
TYPED_KERNEL(group_statistics_gradient, group_norm_numbers, norm_reals)

/// The sum of dy * normalized x of every channel, or of dy alone: a block for each. at: dy, x, statistics,
/// to[channels].
template <class T>
__device__ void group_scale_gradient_of(const given<group_norm_numbers, norm_reals>& a) {
    __shared__ double shared[256];
    const long long together = a.n.columns / a.n.plane;
    const long long group = blockIdx.x / together;
    const long long own = blockIdx.x % together;
    const long long samples = a.n.rows / a.n.groups;
    double sum = 0;
    for (long long i = threadIdx.x; i < samples * a.n.plane; i += blockDim.x) {
        const long long row = i / a.n.plane * a.n.groups + group;
        const long long at = (row * together + own) * a.n.plane + i % a.n.plane;
        if (a.n.of_dy != 0) {
            sum += pointer<const T>(a, 0)[at];
        } else {
            const normalizer n = normalizer_of(a.at[2], row, a.n.rows, a.f.count, a.f.epsilon);
            sum += pointer<const T>(a, 0)[at] * ((pointer<const T>(a, 1)[at] - n.mean) * n.inverse);
        }
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 3)[blockIdx.x] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(group_scale_gradient, group_norm_numbers, norm_reals)

template <class T>
__device__ void group_input_gradient_of(const given<group_norm_numbers, norm_reals>& a) {
    row_input_gradient<T, channel_in_groups>(a);
}
TYPED_KERNEL(group_input_gradient, group_norm_numbers, norm_reals)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

kernels::group_norm_numbers group_numbers(const shard_call& s);
kernels::norm_reals group_reals(const shard_call& s);

/// dy stands in for what is not read.
void group_shift_gradient(const shard_call& s, const kernels::group_norm_numbers& n, const memory_use& dy);

inline constexpr row_norm<kernels::group_norm_numbers> group_norm{kernels::group_normalize,
                                                                  kernels::group_statistics_gradient,
                                                                  kernels::group_scale_gradient,
                                                                  kernels::group_input_gradient,
                                                                  group_numbers,
                                                                  group_reals,
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
