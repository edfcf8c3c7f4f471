// SPDX-License-Identifier: Apache-2.0
// The largest element of a row and the sum of its exponentials, which softmax and losses begin with. Arrays are
// [samples, classes, plane]; a row is a sample's pixel.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel row_maximum{"row_maximum", true};
inline constexpr kernel row_exponentials{"row_exponentials", true};
inline constexpr kernel row_leader{"row_leader", true};

/// Of a block that works on rows together: so many that it has 256 threads.
inline constexpr index_t row_work = 1024;

// clang-format off
TESSERA_KERNELS(row_code,

/// In a softmax samples are rows, and there is no plane: it is 1.
struct row_numbers {
    index_t samples = 0;
    index_t columns = 0; ///< or classes, of the shard
    index_t plane = 0;
    index_t first_class = 0;  ///< number of the shard's first one
    index_t causal_rows = 0;  ///< of a matrix; 0: the softmax is not causal
    index_t first_row = 0;    ///< in a causal one, counted from the shard's first column
    index_t sample_rows = 0;  ///< of a sample; 0: sequences are not padded
    index_t first_column = 0; ///< number of the shard's first one, where sequences are padded
    index_t lengths_at = 0;   ///< number of the pointer to the samples' lengths
    index_t log_threads = 0;  ///< what share_rows says
};
struct loss_reals {
    double scale = 0; ///< of the gradient
};
,

/// How many of its columns a row of a softmax sees: all, or in a causal one those up to the row's own number, and of
/// padded sequences those within the sample's length.
template <class Arguments>
__device__ long long seen_columns(const Arguments& a, long long row) {
    long long seen = a.n.columns;
    if (a.n.causal_rows > 0) {
        const long long own = row % a.n.causal_rows + a.n.first_row + 1;
        seen = own < seen ? own : seen;
    }
    if (a.n.sample_rows > 0) {
        const int* lengths = static_cast<const int*>(a.at[a.n.lengths_at]);
        const long long length = lengths[row / a.n.sample_rows] - a.n.first_column;
        seen = length < seen ? length : seen;
    }
    return seen;
}

/// What a thread has of the rows that a block shares out (see share_rows()): elements of one row, eight at a time,
/// every gap-th. Its neighbours have the elements beside its own in memory: of its row, or (plane above 1) of rows that
/// lie between each other.
struct row_share {
    static constexpr int gap = 32; // but of mixed rows 1
    unsigned threads; // of a row
    unsigned own;     // this one among them
    unsigned apart;   // from one to the next in the block
    bool mixed;
    bool is_inside;
    long long row;
    long long start; // of the row in memory
    long long first; // element

    /// Of a block of 256 threads. Kernels that are never given a plane need no code for one.
    __device__ explicit row_share(const row_numbers& n, bool has_plane) {
        const int log = static_cast<int>(n.log_threads);
        threads = 1u << log;
        const unsigned rows = 256u >> log;
        mixed = has_plane && n.plane > 1;
        apart = mixed ? rows : 1;
        own = mixed ? threadIdx.x >> (8 - log) : threadIdx.x & (threads - 1);
        row = static_cast<long long>(blockIdx.x) * rows + (mixed ? threadIdx.x & (rows - 1) : threadIdx.x >> log);
        is_inside = row < (mixed ? n.samples * n.plane : n.samples);
        start = mixed ? row / n.plane * n.columns * n.plane + row % n.plane : row * n.columns;
        first = mixed ? own * 8 : own / gap * (8 * gap) + own % gap;
    }
    /// From eight elements to the next.
    __device__ long long step() const { return 8 * threads; }

    /// The elements from k on; `rest` for those from `end` on. Their loads are under way together.
    template <class T>
    __device__ void load(const row_numbers& n, const T* all, long long k, long long end, float rest, float* to) const {
        const T* from = all + start + (mixed ? k * n.plane : k);
        const int left = end - k < 8 * gap ? static_cast<int>(end - k) : 8 * gap;
        if (mixed) {
            for (int u = 0; u < 8; ++u) {
                to[u] = u < left ? static_cast<float>(*from) : rest;
                from += n.plane;
            }
        } else if (left > 7 * gap) {
            for (int u = 0; u < 8; ++u) {
                to[u] = from[u * gap];
            }
        } else {
            for (int u = 0; u < 8; ++u) {
                to[u] = u * gap < left ? static_cast<float>(from[u * gap]) : rest;
            }
        }
    }
    template <class T>
    __device__ void store(const row_numbers& n, T* all, long long k, const float* from) const {
        T* to = all + start + (mixed ? k * n.plane : k);
        const int left = n.columns - k < 8 * gap ? static_cast<int>(n.columns - k) : 8 * gap;
        if (mixed) {
            for (int u = 0; u < 8; ++u) {
                if (u < left) {
                    *to = from[u];
                }
                to += n.plane;
            }
        } else if (left > 7 * gap) {
            for (int u = 0; u < 8; ++u) {
                to[u * gap] = from[u];
            }
        } else {
            for (int u = 0; u < 8; ++u) {
                if (u * gap < left) {
                    to[u * gap] = from[u];
                }
            }
        }
    }
};

/// Sum over the threads of each row, in an order that is always the same, for the first of them.
__device__ inline double row_sum(const row_share& s, double value, double* shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned width = s.threads / 2; width > 0; width /= 2) {
        if (s.own < width) {
            shared[threadIdx.x] += shared[threadIdx.x + width * s.apart];
        }
        __syncthreads();
    }
    return shared[threadIdx.x];
}

/// at: logits, to.
template <class T>
__device__ void row_maximum_of(const given<row_numbers>& a) {
    __shared__ float shared[256];
    const row_share s(a.n, true);
    const long long seen = s.is_inside ? seen_columns(a, s.row) : 0;
    float largest = -1.0f / 0.0f;
    for (long long k = s.first; k < seen; k += s.step()) {
        float x[8];
        s.load(a.n, pointer<const T>(a, 0), k, seen, -1.0f / 0.0f, x);
        for (int u = 0; u < 8; ++u) {
            largest = larger(largest, x[u]);
        }
    }
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (unsigned width = s.threads / 2; width > 0; width /= 2) {
        if (s.own < width) {
            shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + width * s.apart]);
        }
        __syncthreads();
    }
    if (s.own == 0 && s.is_inside) {
        pointer<float>(a, 1)[s.row] = shared[threadIdx.x];
    }
}
TYPED_KERNEL(row_maximum, row_numbers)

/// The sum of exp(logit - maximum). at: logits, maxima, to.
template <class T>
__device__ void row_exponentials_of(const given<row_numbers>& a) {
    __shared__ double shared[256];
    const row_share s(a.n, true);
    const long long seen = s.is_inside ? seen_columns(a, s.row) : 0;
    const float largest = s.is_inside ? pointer<const float>(a, 1)[s.row] : 0.0f;
    double sum = 0;
    for (long long k = s.first; k < seen; k += s.step()) {
        float x[8];
        s.load(a.n, pointer<const T>(a, 0), k, seen, -1.0f / 0.0f, x); // the exponential of which is 0
        for (int u = 0; u < 8; ++u) {
            x[u] = expf(x[u] - largest);
        }
        sum += ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }
    sum = row_sum(s, sum, shared);
    if (s.own == 0 && s.is_inside) {
        pointer<float>(a, 2)[s.row] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(row_exponentials, row_numbers)

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
__device__ void row_leader_of(const given<row_numbers>& a) {
    __shared__ leader shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n.plane * a.n.columns * a.n.plane + row % a.n.plane;
    leader best = {-1.0f / 0.0f, 0x7fffffff};
    for (long long k = threadIdx.x; k < a.n.columns; k += blockDim.x) {
        best = leading(best, {x[k * a.n.plane], static_cast<int>(a.n.first_class + k)});
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
TYPED_KERNEL(row_leader, row_numbers)

)
// clang-format on

/// The number of blocks for rows, and, as log_threads, how many threads of a block each has: some 32 elements for a
/// thread, fewer where there are few rows. A warp's threads take neighbours in memory: elements of a row, or of rows
/// that lie between each other.
index_t share_rows(row_numbers& n);

} // namespace tessera::cuda::kernels

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/kernels/rows.inl"
#endif

#include "tessera/base/end_header.inl"
