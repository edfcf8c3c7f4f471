// SPDX-License-Identifier: Apache-2.0
// What the kernels of normalizations of rows have in common: of layer norm, and of group norm, whose rows are groups of
// a sample's channels.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/channels.hpp"

namespace tessera::cuda::kernels {

// clang-format off
TESSERA_DEVICE_CODE(row_norm_code,

/// The numbers of such a kernel begin with rows and columns, the elements of a row in the shard; the statistics are of
/// whole rows. Channel::of(n, row, i) is the place of element i of a row in gamma and beta. at: x, statistics[2, rows],
/// gamma, beta, y.
template <class T, class Channel, class Arguments>
__device__ void normalize_rows(const Arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n.rows * a.n.columns; i += index_step()) {
        const long long row = i / a.n.columns;
        const long long c = Channel::of(a.n, row, i % a.n.columns);
        const normalizer n = normalizer_of(a.at[1], row, a.n.rows, a.f.count, a.f.epsilon);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}

/// The sums of dy * gamma and of dy * gamma * normalized x of every row: a block for each. at: dy, x, gamma,
/// statistics, to[2, rows].
template <class T, class Channel, class Arguments>
__device__ void row_statistics_gradient(const Arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* dy = pointer<const T>(a, 0) + row * a.n.columns;
    const T* x = pointer<const T>(a, 1) + row * a.n.columns;
    const normalizer n = normalizer_of(a.at[3], row, a.n.rows, a.f.count, a.f.epsilon);
    double plain = 0;
    double normal = 0;
    for (long long i = threadIdx.x; i < a.n.columns; i += blockDim.x) {
        const double g = static_cast<double>(dy[i]) * pointer<const float>(a, 2)[Channel::of(a.n, row, i)];
        plain += g;
        normal += g * ((x[i] - n.mean) * n.inverse);
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 4)[row] = plain;
        pointer<double>(a, 4)[a.n.rows + row] = normal;
    }
}

/// dx = (dy * gamma - (sum of dy * gamma + normalized x * sum of dy * gamma * normalized x) / elements) / sigma.
/// at: dy, x, gamma, statistics, sums[2, rows], dx.
template <class T, class Channel, class Arguments>
__device__ void row_input_gradient(const Arguments& a) {
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n.rows * a.n.columns; i += index_step()) {
        const long long row = i / a.n.columns;
        const long long c = Channel::of(a.n, row, i % a.n.columns);
        const normalizer n = normalizer_of(a.at[3], row, a.n.rows, a.f.count, a.f.epsilon);
        const double normal = (pointer<const T>(a, 1)[i] - n.mean) * n.inverse;
        const double g = static_cast<double>(pointer<const T>(a, 0)[i]) * pointer<const float>(a, 2)[c];
        const double part = (sums[row] + normal * sums[a.n.rows + row]) / a.f.count;
        pointer<T>(a, 5)[i] = static_cast<float>(n.inverse * (g - part));
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
