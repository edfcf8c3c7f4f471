// SPDX-License-Identifier: Apache-2.0
// Look-ups in tables, of tokens and of positions. cuDNN's classic interface has none.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/op/embedding.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel look_up{"look_up", true};
inline constexpr kernel look_up_gradient{"look_up_gradient", true};
inline constexpr kernel add_table{"add_table", true};
inline constexpr kernel table_gradient{"table_gradient", true};

// clang-format off
TESSERA_KERNELS(embedding_code,

struct look_up_numbers {
    index_t tokens = 0;
    index_t columns = 0;
    index_t rows = 0;      ///< of the shard's part of the table
    index_t first_row = 0; ///< its number in the table
    index_t blocks = 0;    ///< of the gradient: a power of two
};
struct add_table_numbers {
    index_t count = 0;
    index_t row_elements = 0; ///< of the rows that are added to every sample
};
struct table_gradient_numbers {
    index_t samples = 0;
    index_t used = 0;  ///< elements of the rows that are used
    index_t table = 0; ///< all elements
    index_t first = 0; ///< number in the table of the first element that is used
};
,

/// The rows of the tokens that lie in the shard's part of the table, 0 for others. at: tokens, table, y.
template <class T>
__device__ void look_up_of(const given<look_up_numbers>& a) {
    for (long long i = first_index(); i < a.n.tokens * a.n.columns; i += index_step()) {
        const long long row = pointer<const int>(a, 0)[i / a.n.columns] - a.n.first_row;
        const bool has_row = row >= 0 && row < a.n.rows;
        pointer<T>(a, 2)[i] = has_row ? pointer<const float>(a, 1)[row * a.n.columns + i % a.n.columns] : 0.0f;
    }
}
TYPED_KERNEL(look_up, look_up_numbers)

/// Adds to four columns of a row, every blockDim-th of those `left`, what the tokens of a list have from its place i
/// on.
template <class T>
__device__ inline void add_listed(const T* dy, long long columns, long long left, const unsigned short* at,
                                  const unsigned short* next, int i, float* row) {
    const int step = static_cast<int>(blockDim.x);
    const int few = left < 4 * step ? static_cast<int>(left) : 4 * step;
    float sum[4];
    for (int v = 0; v < 4; ++v) {
        sum[v] = v * step < few ? row[v * step] : 0.0f;
    }
    for (bool goes_on = true; goes_on;) {
        float x[4][4]; // of four tokens, whose loads are under way together
        for (int u = 0; u < 4; ++u) {
            const T* from = dy + at[i] * columns;
            const int end = goes_on ? few : 0;
            for (int v = 0; v < 4; ++v) {
                x[u][v] = v * step < end ? static_cast<float>(from[v * step]) : 0.0f;
            }
            goes_on = goes_on && next[i] != 0;
            i = goes_on ? next[i] : i;
        }
        for (int u = 0; u < 4; ++u) {
            for (int v = 0; v < 4; ++v) {
                sum[v] += x[u][v];
            }
        }
    }
    for (int v = 0; v < 4; ++v) {
        if (v * step < few) {
            row[v * step] = sum[v];
        }
    }
}

/// The tokens in a block's list, in their order.
struct token_list {
    int* row_of;          ///< of a token; -1 of one that another leads to
    unsigned short* at;   ///< its place among those looked through
    unsigned short* next; ///< in the list; 0: none
    int* before;          ///< of its tokens those of the threads before, and at last of all
};

/// Each thread's number becomes its sum with those of the threads before it.
__device__ inline void sum_before(int* before) {
    for (unsigned width = 1; width < blockDim.x; width *= 2) {
        const int more = threadIdx.x >= width ? before[threadIdx.x - width] : 0;
        __syncthreads();
        before[threadIdx.x] += more;
        __syncthreads();
    }
}

/// Lists a thread's own hits among its eight tokens, behind those of the threads before. Returns how many all list.
__device__ inline int list_tokens(const token_list& list, const int* own, unsigned first_row, unsigned hits,
                                  int count) {
    sum_before(list.before);
    int to = list.before[threadIdx.x] - count;
    for (int u = 0; u < 8; ++u) {
        if ((hits >> u & 1u) != 0) {
            list.row_of[to] = static_cast<int>(static_cast<unsigned>(own[u]) - first_row);
            list.at[to] = static_cast<unsigned short>(8 * threadIdx.x + u);
            list.next[to] = 0;
            ++to;
        }
    }
    __syncthreads();
    return list.before[blockDim.x - 1];
}

/// Leads each listed token to the next of its row.
__device__ inline void link_rows(const token_list& list, int all) {
    unsigned is_led_to = 0;
    for (int u = 0; u < 8; ++u) {
        const int i = static_cast<int>(threadIdx.x + u * blockDim.x);
        int k = i - 1;
        while (i < all && k >= 0 && list.row_of[k] != list.row_of[i]) {
            --k;
        }
        if (i < all && k >= 0) {
            is_led_to |= 1u << u;
            list.next[k] = static_cast<unsigned short>(i);
        }
    }
    __syncthreads();
    for (int u = 0; u < 8; ++u) {
        if ((is_led_to >> u & 1u) != 0) {
            list.row_of[threadIdx.x + u * blockDim.x] = -1;
        }
    }
    __syncthreads();
}

/// The gradients of each row's tokens, added in the tokens' order. A block has the rows whose numbers are its own
/// modulo the number of blocks, so that tokens that are frequent together fall to many. It looks through the tokens,
/// eight for a thread at a time, lists those of its rows in their order, each leading to the next of its row, and then
/// has a thread for each column. at: tokens, dy, to.
template <class T>
__device__ void look_up_gradient_of(const given<look_up_numbers>& a) {
    __shared__ int row_of[2048];
    __shared__ unsigned short at[2048];
    __shared__ unsigned short next[2048];
    __shared__ int before[256];
    __shared__ int found[1];
    const token_list list = {row_of, at, next, before};
    const int* tokens = pointer<const int>(a, 0);
    const T* dy = pointer<const T>(a, 1);
    const unsigned rows = static_cast<unsigned>(a.n.rows);
    const unsigned first_row = static_cast<unsigned>(a.n.first_row);
    const unsigned blocks = static_cast<unsigned>(a.n.blocks);
    for (long long row = blockIdx.x; row < a.n.rows; row += blocks) {
        for (long long c = threadIdx.x; c < a.n.columns; c += blockDim.x) {
            pointer<float>(a, 2)[row * a.n.columns + c] = 0.0f;
        }
    }
    for (long long first = 0; first < a.n.tokens; first += 8 * blockDim.x) {
        const int* own = tokens + first + 8 * threadIdx.x;
        const long long left = a.n.tokens - first - 8 * threadIdx.x;
        unsigned row[8];
        for (int u = 0; u < 8; ++u) {
            row[u] = u < left ? static_cast<unsigned>(own[u]) - first_row : rows;
        }
        int count = 0;
        unsigned hits = 0;
        for (int u = 0; u < 8; ++u) {
            if (row[u] < rows && (row[u] & (blocks - 1)) == blockIdx.x) {
                ++count;
                hits |= 1u << u;
            }
        }
        if (threadIdx.x == 0) {
            found[0] = 0;
        }
        __syncthreads();
        if (count > 0) {
            found[0] = 1;
        }
        before[threadIdx.x] = count;
        __syncthreads();
        if (found[0] == 1) {
            const int all = list_tokens(list, own, first_row, hits, count);
            link_rows(list, all);
            for (int i = 0; i < all; ++i) {
                if (row_of[i] >= 0) {
                    float* to = pointer<float>(a, 2) + row_of[i] * a.n.columns;
                    for (long long c = threadIdx.x; c < a.n.columns; c += 4 * blockDim.x) {
                        add_listed(dy + first * a.n.columns + c, a.n.columns, a.n.columns - c, at, next, i, to + c);
                    }
                }
            }
        }
        __syncthreads();
    }
}
TYPED_KERNEL(look_up_gradient, look_up_numbers)

/// The same rows of a table added to every sample. at: x, table from the first of them, y.
template <class T>
__device__ void add_table_of(const given<add_table_numbers>& a) {
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        pointer<T>(a, 2)[i] = pointer<const T>(a, 0)[i] + pointer<const float>(a, 1)[i % a.n.row_elements];
    }
}
TYPED_KERNEL(add_table, add_table_numbers)

/// The gradient of a whole table, summed over samples. at: dy, to.
template <class T>
__device__ void table_gradient_of(const given<table_gradient_numbers>& a) {
    const T* dy = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n.table; i += index_step()) {
        const long long own = i - a.n.first;
        float sum = 0.0f;
        for (long long s = 0; own >= 0 && own < a.n.used && s < a.n.samples; ++s) {
            sum += dy[s * a.n.used + own];
        }
        pointer<float>(a, 1)[i] = sum;
    }
}
TYPED_KERNEL(table_gradient, table_gradient_numbers)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

kernels::look_up_numbers look_up_numbers_of(const shard_call& s);

void look_up_forward(const shard_call& s);

void look_up_backward(const shard_call& s);

/// Elements of the table before the row of the shard's first position.
index_t before_rows(const shard_call& s);

void position_forward(const shard_call& s);

/// The gradient of the table is summed over the samples.
void position_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row embedding_rows[] = {
    {.of = &op::embedding_record,
     .forward = detail::look_up_forward,
     .backward = detail::look_up_backward,
     .calls_forward = "kernel:look_up",
     .calls_backward = "kernel:look_up_gradient",
     .why = "no vendor call looks up rows",
     .code = kernels::embedding_code},
    {.of = &op::position_embedding_record,
     .forward = detail::position_forward,
     .backward = detail::position_backward,
     .calls_forward = "cudnnOpTensor",
     .calls_backward = "cudaMemcpyAsync kernel:column_sums kernel:table_gradient",
     .why = "cuDNN's sums of columns are slow, and no vendor call sums into a table of more rows than positions",
     .code = kernels::embedding_code},
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/embedding.inl"
#endif

#include "tessera/base/end_header.inl"
