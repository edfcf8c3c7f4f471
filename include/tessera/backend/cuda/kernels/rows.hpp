// SPDX-License-Identifier: Apache-2.0
// The largest element of a row and the sum of its exponentials, which softmax and losses begin with. Arrays are [samples, classes, plane]; a row is a sample's
// pixel. n of all: samples, classes of the shard, plane, number of the shard's first class; in a softmax rows, columns, 1, -, and what seen_columns takes.
#pragma once

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel row_maximum{"row_maximum", true};
inline constexpr kernel row_exponentials{"row_exponentials", true};
inline constexpr kernel row_leader{"row_leader", true};

// clang-format off
TESSERA_DEVICE_CODE(row_code,

/// How many of its columns a row of a softmax sees: all, or (n[4], rows of a matrix, above 0) in a causal one those up to the row's own number, which is n[5] for
/// the first row, counted from the shard's first column; and (n[6], rows of a sample, above 0) of padded sequences those within the sample's length, at[n[8]], where
/// n[7] is the number of the shard's first column.
__device__ inline long long seen_columns(const arguments& a, long long row) {
    long long seen = a.n[1];
    if (a.n[4] > 0) {
        const long long own = row % a.n[4] + a.n[5] + 1;
        seen = own < seen ? own : seen;
    }
    if (a.n[6] > 0) {
        const long long length = static_cast<const int*>(a.at[a.n[8]])[row / a.n[6]] - a.n[7];
        seen = length < seen ? length : seen;
    }
    return seen;
}

/// A block for each row. at: logits, to.
template <class T>
__device__ void row_maximum_of(const arguments& a) {
    __shared__ float shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n[2] * a.n[1] * a.n[2] + row % a.n[2];
    const long long seen = seen_columns(a, row);
    float largest = -1.0f / 0.0f;
    for (long long k = threadIdx.x; k < seen; k += blockDim.x) {
        largest = larger(largest, x[k * a.n[2]]);
    }
    largest = block_maximum(largest, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 1)[row] = largest;
    }
}
TYPED_KERNEL(row_maximum)

/// The sum of exp(logit - maximum). A block for each row. at: logits, maxima, to.
template <class T>
__device__ void row_exponentials_of(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n[2] * a.n[1] * a.n[2] + row % a.n[2];
    const float largest = pointer<const float>(a, 1)[row];
    const long long seen = seen_columns(a, row);
    double sum = 0;
    for (long long k = threadIdx.x; k < seen; k += blockDim.x) {
        sum += expf(x[k * a.n[2]] - largest);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 2)[row] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(row_exponentials)

struct leader {
    float logit;
    int number;
};

/// The larger logit; of equal ones that of the smaller number.
__device__ inline leader leading(leader a, leader b) {
    return b.logit > a.logit || (b.logit == a.logit && b.number < a.number) ? b : a;
}

/// The largest logit of each row and its class, of several the first. A block for each row. at: logits, leaders.
template <class T>
__device__ void row_leader_of(const arguments& a) {
    __shared__ leader shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n[2] * a.n[1] * a.n[2] + row % a.n[2];
    leader best = {-1.0f / 0.0f, 0x7fffffff};
    for (long long k = threadIdx.x; k < a.n[1]; k += blockDim.x) {
        best = leading(best, {x[k * a.n[2]], static_cast<int>(a.n[3] + k)});
    }
    shared[threadIdx.x] = best;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            shared[threadIdx.x] = leading(shared[threadIdx.x], shared[threadIdx.x + width]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        pointer<leader>(a, 1)[row] = shared[0];
    }
}
TYPED_KERNEL(row_leader)

)
// clang-format on

} // namespace tessera::cuda::kernels
