// SPDX-License-Identifier: Apache-2.0
// Layer norm, nest by nest: a split leaves partial results between the nests. cuDNN's classic interface has none.
#pragma once

#include "tessera/backend/cuda/compose.hpp"
#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/backend/cuda/numbers.hpp"
#include "tessera/op/layer_norm.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel layer_normalize{"layer_normalize", true};
inline constexpr kernel layer_statistics_gradient{"layer_statistics_gradient", true};
inline constexpr kernel layer_scale_gradient{"layer_scale_gradient", true};
inline constexpr kernel layer_input_gradient{"layer_input_gradient", true};

// clang-format off
TESSERA_DEVICE_CODE(layer_norm_code,

/// at: x, statistics[2, rows], gamma, beta, y. n of all of layer norm: rows, columns of the shard. f: columns of the whole row, epsilon.
template <class T>
__device__ void layer_normalize_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long c = i % a.n[1];
        const normalizer n = normalizer_of(a.at[1], i / a.n[1], a.n[0], a.f[0], a.f[1]);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}
TYPED_KERNEL(layer_normalize)

/// The sums of dy * gamma and of dy * gamma * normalized x of every row: a block for each. at: dy, x, gamma, statistics, to[2, rows].
template <class T>
__device__ void layer_statistics_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* dy = pointer<const T>(a, 0) + row * a.n[1];
    const T* x = pointer<const T>(a, 1) + row * a.n[1];
    const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
    double plain = 0;
    double normal = 0;
    for (long long c = threadIdx.x; c < a.n[1]; c += blockDim.x) {
        const double g = static_cast<double>(dy[c]) * pointer<const float>(a, 2)[c];
        plain += g;
        normal += g * ((x[c] - n.mean) * n.inverse);
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 4)[row] = plain;
        pointer<double>(a, 4)[a.n[0] + row] = normal;
    }
}
TYPED_KERNEL(layer_statistics_gradient)

/// The sum of dy * normalized x of every column: a block for each. at: dy, x, statistics, to[columns].
template <class T>
__device__ void layer_scale_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long c = blockIdx.x;
    double sum = 0;
    for (long long row = threadIdx.x; row < a.n[0]; row += blockDim.x) {
        const long long at = row * a.n[1] + c;
        const normalizer n = normalizer_of(a.at[2], row, a.n[0], a.f[0], a.f[1]);
        sum += pointer<const T>(a, 0)[at] * ((pointer<const T>(a, 1)[at] - n.mean) * n.inverse);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 3)[c] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(layer_scale_gradient)

/// dx = (dy * gamma - (sum of dy * gamma + normalized x * sum of dy * gamma * normalized x) / columns) / sigma.
/// at: dy, x, gamma, statistics, sums[2, rows], dx.
template <class T>
__device__ void layer_input_gradient_of(const arguments& a) {
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
        const double normal = (pointer<const T>(a, 1)[i] - n.mean) * n.inverse;
        const double g = static_cast<double>(pointer<const T>(a, 0)[i]) * pointer<const float>(a, 2)[i % a.n[1]];
        pointer<T>(a, 5)[i] = static_cast<float>(n.inverse * (g - (sums[row] + normal * sums[a.n[0] + row]) / a.f[0]));
    }
}
TYPED_KERNEL(layer_input_gradient)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

inline kernel_numbers layer_numbers(const shard_call& s) {
    const shape& x = s.d.operands[s.input()].extents;
    kernel_numbers n = row_numbers(s, s.input());
    n.f[0] = static_cast<double>(x[x.rank - 1]);
    n.f[1] = s.attributes().as<op::layer_norm_attributes>().epsilon;
    return n;
}

inline void layer_norm_forward(const shard_call& s) {
    const kernel_numbers n = layer_numbers(s);
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
        s.to.launch(kernels::layer_normalize,
                    {s.value(s.input()), s.value(statistics), s.value(s.parameter(0)), s.value(s.parameter(1)),
                     s.value_to(s.output())},
                    n, s.volume(s.output()));
    }
}

inline void layer_norm_backward(const shard_call& s) {
    const kernel_numbers n = layer_numbers(s);
    const memory_use dy = s.gradient(s.output());
    const int statistics = s.intermediate(0);
    if (s.emits(statistics)) {
        s.to.launch_blocks(
            kernels::layer_statistics_gradient,
            {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient_to(statistics)}, n,
            n.n[0], n.n[1]);
    }
    if (s.emits(s.parameter(0))) {
        s.to.launch_blocks(kernels::layer_scale_gradient,
                           {dy, s.value(s.input()), s.value(statistics), s.gradient_to(s.parameter(0))}, n, n.n[1],
                           n.n[0]);
    }
    if (s.emits(s.parameter(1))) { // the sums of dy alone, as of batch norm: dy stands in for what they do not need
        kernel_numbers columns = n;
        columns.n[3] = 4;
        s.to.launch_channels(kernels::statistics_gradient, {dy, dy, dy}, {dy, dy, s.gradient_to(s.parameter(1))},
                             columns);
    }
    if (s.emits(s.input())) {
        s.to.launch(kernels::layer_input_gradient,
                    {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient(statistics),
                     s.gradient_to(s.input())},
                    n, s.volume(s.input()));
    }
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row layer_norm_row{
    .of = &op::layer_norm_record,
    .forward = detail::layer_norm_forward,
    .backward = detail::layer_norm_backward,
    .calls_forward = "kernel:channel_statistics kernel:layer_normalize",
    .calls_backward = "kernel:layer_statistics_gradient kernel:layer_scale_gradient kernel:statistics_gradient "
                      "kernel:layer_input_gradient",
    .why = "cuDNN's classic interface has no layer norm",
    .code = kernels::layer_norm_code,
};

} // namespace tessera::cuda
