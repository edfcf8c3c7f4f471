// SPDX-License-Identifier: Apache-2.0
// Device code that all kernels share.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/kernel.hpp"

namespace tessera::cuda::kernels {

// clang-format off
TESSERA_KERNELS(common_code,

/// Of a kernel that needs to know no more.
struct count_numbers {
    index_t count = 0; ///< elements
};
/// Of an expression some of whose inputs are broadcast. Sets of dimensions are bits, that of the last one first.
struct broadcast_numbers {
    index_t count = 0; ///< elements that are written
    index_t extents[5] = {};
    index_t written = 0;    ///< dimensions that what is written has
    index_t summed = 0;     ///< those that are summed over
    index_t points = 0;     ///< in the latter
    index_t leaves[6] = {}; ///< dimensions of each leaf (kernels/expression.hpp)
};
,

/// What a kernel is launched with: addresses, and numbers by their names.
template <class Integers = long long[96], class Reals = double[16]>
struct given {
    void* at[12];
    union {
        Integers n;
        long long integers[96];
    };
    union {
        Reals f;
        double reals[16];
    };
};
using arguments = given<>;

struct step_values {
    unsigned long long seed;
    unsigned long long step;
    double learning_rate;
    double correction1;
    double correction2;
};

/// A stored number of 16 bits: the upper half of a float, the nearest one, the even one of two.
struct bf16 {
    unsigned short bits;

    __device__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
    __device__ bf16& operator=(float x) {
        const unsigned all = __float_as_uint(x);
        const bool nan = (all & 0x7fffffffu) > 0x7f800000u;
        bits = static_cast<unsigned short>(nan ? (all >> 16) | 0x40u : (all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
        return *this;
    }
    __device__ bf16& operator+=(float x) { return *this = static_cast<float>(*this) + x; }
};

template <class T, class Arguments>
__device__ T* pointer(const Arguments& a, int i) {
    return static_cast<T*>(a.at[i]);
}

__device__ inline long long first_index() {
    return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline long long index_step() {
    return static_cast<long long>(gridDim.x) * blockDim.x;
}

/// Where in a dense array, which has some of five dimensions (bits of `has`, the last dimension's first), the element
/// at these coordinates is.
__device__ inline long long place_among(const long long* extents, long long has, const long long* at) {
    long long place = 0;
    for (int d = 0; d < 5; ++d) {
        place = (has >> (4 - d) & 1) != 0 ? place * extents[d] + at[d] : place;
    }
    return place;
}

/// The coordinates of element `i` of such an array; others stay as they are.
__device__ inline void coordinates_of(const long long* extents, long long has, long long i, long long* at) {
    for (int d = 4; d >= 0; --d) {
        if ((has >> (4 - d) & 1) != 0) {
            at[d] = i % extents[d];
            i = i / extents[d];
        }
    }
}

/// Whether a step is not taken: a loss of it, on whatever device, is not finite. `has_flag`: 1 where these are counted,
/// and `flags` leads to how many there are.
__device__ inline bool is_refused(long long has_flag, void* const* flags) {
    return has_flag == 1 && *static_cast<const float*>(*flags) != 0;
}

/// Sum over the threads of a block, a power of two of at most 256, in an order that is always the same.
__device__ inline double block_sum(double value, double* shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            shared[threadIdx.x] += shared[threadIdx.x + width];
        }
        __syncthreads();
    }
    const double total = shared[0];
    __syncthreads();
    return total;
}

/// The larger, and NaN once there is one.
__device__ inline float larger(float a, float b) {
    return b > a || b != b ? b : a;
}

__device__ inline float block_maximum(float value, float* shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + width]);
        }
        __syncthreads();
    }
    const float total = shared[0];
    __syncthreads();
    return total;
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
