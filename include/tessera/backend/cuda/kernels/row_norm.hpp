// SPDX-License-Identifier: Apache-2.0
// What the kernels of normalizations of rows have in common: of layer norm, and of group norm, whose rows are groups of
// a sample's channels.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/channels.hpp"

namespace tessera::cuda::kernels {

// clang-format off
TESSERA_DEVICE_CODE(row_norm_code,

/// at: x, statistics[2, rows], gamma, beta, y. n: rows, elements of a row in the shard. f: elements of a whole row,
/// epsilon. Channel::of(a, row, i) is the place of element i of a row in gamma and beta.
template <class T, class Channel>
__device__ void normalize_rows(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        const long long c = Channel::of(a, row, i % a.n[1]);
        const normalizer n = normalizer_of(a.at[1], row, a.n[0], a.f[0], a.f[1]);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}

/// The sums of dy * gamma and of dy * gamma * normalized x of every row: a block for each. at: dy, x, gamma,
/// statistics, to[2, rows].
template <class T, class Channel>
__device__ void row_statistics_gradient(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* dy = pointer<const T>(a, 0) + row * a.n[1];
    const T* x = pointer<const T>(a, 1) + row * a.n[1];
    const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
    double plain = 0;
    double normal = 0;
    for (long long i = threadIdx.x; i < a.n[1]; i += blockDim.x) {
        const double g = static_cast<double>(dy[i]) * pointer<const float>(a, 2)[Channel::of(a, row, i)];
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

/// dx = (dy * gamma - (sum of dy * gamma + normalized x * sum of dy * gamma * normalized x) / elements) / sigma.
/// at: dy, x, gamma, statistics, sums[2, rows], dx.
template <class T, class Channel>
__device__ void row_input_gradient(const arguments& a) {
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        const long long c = Channel::of(a, row, i % a.n[1]);
        const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
        const double normal = (pointer<const T>(a, 1)[i] - n.mean) * n.inverse;
        const double g = static_cast<double>(pointer<const T>(a, 0)[i]) * pointer<const float>(a, 2)[c];
        pointer<T>(a, 5)[i] = static_cast<float>(n.inverse * (g - (sums[row] + normal * sums[a.n[0] + row]) / a.f[0]));
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
