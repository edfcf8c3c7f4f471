// SPDX-License-Identifier: Apache-2.0
// Group norm, nest by nest, as layer norm with a group of a sample's channels for a row. cuDNN's classic interface has none.
#pragma once

#include "tessera/backend/cuda/compose.hpp"
#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/backend/cuda/numbers.hpp"
#include "tessera/op/group_norm.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel group_normalize{"group_normalize", true};
inline constexpr kernel group_statistics_gradient{"group_statistics_gradient", true};
inline constexpr kernel group_scale_gradient{"group_scale_gradient", true};
inline constexpr kernel group_input_gradient{"group_input_gradient", true};

// clang-format off
TESSERA_DEVICE_CODE(group_norm_code,

/// The channel, among the shard's, of element `i` of a row. n of all of group norm: rows, elements of a row, elements of a channel's plane, groups
/// of a sample. f: elements of a whole row, epsilon.
__device__ inline long long channel_in_groups(const arguments& a, long long row, long long i) {
    return (row % a.n[3]) * (a.n[1] / a.n[2]) + i / a.n[2];
}

/// at: x, statistics[2, rows], gamma, beta, y.
template <class T>
__device__ void group_normalize_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        const long long c = channel_in_groups(a, row, i % a.n[1]);
        const normalizer n = normalizer_of(a.at[1], row, a.n[0], a.f[0], a.f[1]);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}
TYPED_KERNEL(group_normalize)

/// The sums of dy * gamma and of dy * gamma * normalized x of every row: a block for each. at: dy, x, gamma, statistics, to[2, rows].
template <class T>
__device__ void group_statistics_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* dy = pointer<const T>(a, 0) + row * a.n[1];
    const T* x = pointer<const T>(a, 1) + row * a.n[1];
    const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
    double plain = 0;
    double normal = 0;
    for (long long i = threadIdx.x; i < a.n[1]; i += blockDim.x) {
        const double g = static_cast<double>(dy[i]) * pointer<const float>(a, 2)[channel_in_groups(a, row, i)];
        plain += g;
        normal += g * ((x[i] - n.mean) * n.inverse);
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 4)[row] = plain;
        pointer<double>(a, 4)[a.n[0] + row] = normal;
    }
}
TYPED_KERNEL(group_statistics_gradient)

/// The sum of dy * normalized x of every channel, or (n[4]) of dy alone: a block for each. at: dy, x, statistics, to[channels].
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

/// dx = (dy * gamma - (sum of dy * gamma + normalized x * sum of dy * gamma * normalized x) / elements) / sigma.
/// at: dy, x, gamma, statistics, sums[2, rows], dx.
template <class T>
__device__ void group_input_gradient_of(const arguments& a) {
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        const long long c = channel_in_groups(a, row, i % a.n[1]);
        const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
        const double normal = (pointer<const T>(a, 1)[i] - n.mean) * n.inverse;
        const double g = static_cast<double>(pointer<const T>(a, 0)[i]) * pointer<const float>(a, 2)[c];
        pointer<T>(a, 5)[i] = static_cast<float>(n.inverse * (g - (sums[row] + normal * sums[a.n[0] + row]) / a.f[0]));
    }
}
TYPED_KERNEL(group_input_gradient)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

inline kernel_numbers group_numbers(const shard_call& s) {
    const auto own = s.attributes().as<op::group_norm_attributes>();
    const shape& x = s.d.operands[s.input()].extents;
    const index_t groups = s.size(s.intermediate(0), 2);
    kernel_numbers n;
    n.n[0] = s.size(s.input(), 0) * groups;
    n.n[1] = s.volume(s.input()) / n.n[0];
    n.n[2] = s.size(s.input(), 2) * s.size(s.input(), 3);
    n.n[3] = groups;
    const index_t elements = x.volume() / x[0] / own.groups;
    n.f[0] = static_cast<double>(elements);
    n.f[1] = own.epsilon;
    return n;
}

inline void group_norm_forward(const shard_call& s) {
    const kernel_numbers n = group_numbers(s);
    const int statistics = s.intermediate(0);
    if (s.call.first_nest == 0) {
        kernel_numbers rows; // to that kernel a row is the plane of a channel of one sample
        rows.n[0] = 1;
        rows.n[1] = n.n[0];
        rows.n[2] = n.n[1];
        s.to.launch_blocks(kernels::channel_statistics, {s.value(s.input()), s.value_to(statistics)}, rows, n.n[0],
                           n.n[1]);
    }
    if (s.call.last_nest == 1) {
        s.to.launch(kernels::group_normalize,
                    {s.value(s.input()), s.value(statistics), s.value(s.parameter(0)), s.value(s.parameter(1)),
                     s.value_to(s.output())},
                    n, s.volume(s.output()));
    }
}

inline void group_norm_backward(const shard_call& s) {
    const kernel_numbers n = group_numbers(s);
    const memory_use dy = s.gradient(s.output());
    const int statistics = s.intermediate(0);
    const index_t channels = s.size(s.input(), 1);
    if (s.emits(statistics)) {
        s.to.launch_blocks(
            kernels::group_statistics_gradient,
            {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient_to(statistics)}, n,
            n.n[0], n.n[1]);
    }
    if (s.emits(s.parameter(0))) {
        s.to.launch_blocks(kernels::group_scale_gradient,
                           {dy, s.value(s.input()), s.value(statistics), s.gradient_to(s.parameter(0))}, n, channels,
                           s.volume(s.input()) / channels);
    }
    if (s.emits(s.parameter(1))) { // dy stands in for what is not read
        kernel_numbers plain = n;
        plain.n[4] = 1;
        s.to.launch_blocks(kernels::group_scale_gradient, {dy, dy, dy, s.gradient_to(s.parameter(1))}, plain, channels,
                           s.volume(s.input()) / channels);
    }
    if (s.emits(s.input())) {
        s.to.launch(kernels::group_input_gradient,
                    {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient(statistics),
                     s.gradient_to(s.input())},
                    n, s.volume(s.input()));
    }
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row group_norm_row{
    .of = &op::group_norm_record,
    .forward = detail::group_norm_forward,
    .backward = detail::group_norm_backward,
    .calls_forward = "kernel:channel_statistics kernel:group_normalize",
    .calls_backward = "kernel:group_statistics_gradient kernel:group_scale_gradient kernel:group_input_gradient",
    .why = "cuDNN's classic interface has no group norm",
    .code = kernels::group_norm_code,
};

} // namespace tessera::cuda
