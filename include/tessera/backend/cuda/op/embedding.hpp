// SPDX-License-Identifier: Apache-2.0
// Look-ups in tables, of tokens and of positions. cuDNN's classic interface has none.
#pragma once

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
TESSERA_DEVICE_CODE(embedding_code,

/// The rows of the tokens that lie in the shard's part of the table, 0 for others. at: tokens, table, y. n of both: tokens, columns,
/// rows of the part, number of its first row.
template <class T>
__device__ void look_up_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = pointer<const int>(a, 0)[i / a.n[1]] - a.n[3];
        pointer<T>(a, 2)[i] = row >= 0 && row < a.n[2] ? pointer<const float>(a, 1)[row * a.n[1] + i % a.n[1]] : 0.0f;
    }
}
TYPED_KERNEL(look_up)

/// A block for each row of the table, a thread for each column of it: it adds up the gradients of the row's tokens in their order.
/// at: tokens, dy, to.
template <class T>
__device__ void look_up_gradient_of(const arguments& a) {
    __shared__ int hits[256];
    __shared__ int found[1];
    const int* tokens = pointer<const int>(a, 0);
    const T* dy = pointer<const T>(a, 1);
    const long long row = blockIdx.x;
    float* to = pointer<float>(a, 2) + row * a.n[1];
    for (long long c = threadIdx.x; c < a.n[1]; c += blockDim.x) {
        to[c] = 0.0f;
    }
    for (long long first = 0; first < a.n[0]; first += blockDim.x) {
        if (threadIdx.x == 0) {
            found[0] = 0;
        }
        __syncthreads();
        const long long own = first + threadIdx.x;
        const bool hit = own < a.n[0] && tokens[own] == row + a.n[3];
        hits[threadIdx.x] = hit ? 1 : 0;
        if (hit) {
            found[0] = 1;
        }
        __syncthreads();
        for (long long c = threadIdx.x; found[0] == 1 && c < a.n[1]; c += blockDim.x) {
            float sum = to[c];
            for (unsigned k = 0; k < blockDim.x; ++k) {
                sum += hits[k] == 1 ? dy[(first + k) * a.n[1] + c] : 0.0f;
            }
            to[c] = sum;
        }
        __syncthreads();
    }
}
TYPED_KERNEL(look_up_gradient)

/// The same rows of a table added to every sample. at: x, table from the first of them, y. n: count, elements of the
/// rows.
template <class T>
__device__ void add_table_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<T>(a, 2)[i] = pointer<const T>(a, 0)[i] + pointer<const float>(a, 1)[i % a.n[1]];
    }
}
TYPED_KERNEL(add_table)

/// The gradient of a whole table, summed over samples. at: dy, to. n: samples, elements of the rows that are used,
/// elements of the table, the number in it of the first element that is used.
template <class T>
__device__ void table_gradient_of(const arguments& a) {
    const T* dy = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[2]; i += index_step()) {
        const long long own = i - a.n[3];
        float sum = 0.0f;
        for (long long s = 0; own >= 0 && own < a.n[1] && s < a.n[0]; ++s) {
            sum += dy[s * a.n[1] + own];
        }
        pointer<float>(a, 1)[i] = sum;
    }
}
TYPED_KERNEL(table_gradient)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Tokens, columns, rows of the shard's part of the table and the number of its first row.
inline kernel_numbers table_numbers(const shard_call& s) {
    const interval rows = s.region_of(s.parameter(0)).dim[0];
    kernel_numbers n = row_numbers(s, s.output());
    n.n[2] = rows.size();
    n.n[3] = rows.begin;
    return n;
}

inline void look_up_forward(const shard_call& s) {
    s.to.launch(kernels::look_up, {s.value(s.input()), s.value(s.parameter(0)), s.value_to(s.output())},
                table_numbers(s), s.volume(s.output()));
}

inline void look_up_backward(const shard_call& s) {
    const kernel_numbers n = table_numbers(s);
    if (s.emits(s.parameter(0))) {
        s.to.launch_blocks(kernels::look_up_gradient,
                           {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.parameter(0))}, n, n.n[2],
                           n.n[0] > n.n[1] ? n.n[0] : n.n[1]);
    }
}

/// Elements of the table before the row of the shard's first position.
inline index_t before_rows(const shard_call& s) {
    const bool is_whole = s.d.operands[s.parameter(0)].dim[0].all;
    return is_whole ? s.region_of(s.output()).dim[1].begin * s.size(s.output(), 2) : 0;
}

inline void position_forward(const shard_call& s) {
    kernel_numbers n = count_of(s.volume(s.output()));
    n.n[1] = s.size(s.output(), 1) * s.size(s.output(), 2);
    memory_use rows = composer::from(s.value(s.parameter(0)), before_rows(s) * bytes_of(element::f32));
    rows.bytes = n.n[1] * bytes_of(element::f32);
    if (!s.in_bf16()) {
        tensor_operation add;
        add.count = n.n[1];
        add.rows = to_int(n.n[0]) / n.n[1];
        add.repeats = true;
        s.to.add(add, {s.value(s.input()), rows, s.value_to(s.output())});
        return;
    }
    s.to.launch(kernels::add_table, {s.value(s.input()), rows, s.value_to(s.output())}, n, n.n[0]);
}

/// The gradient of the table is summed over the samples.
inline void position_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    if (s.emits(s.input())) {
        s.to.add(memory_copy{}, {dy, s.gradient_to(s.input())});
    }
    if (s.emits(s.parameter(0))) {
        kernel_numbers n;
        n.n[0] = s.size(s.output(), 0);
        n.n[1] = s.size(s.output(), 1) * s.size(s.output(), 2);
        n.n[2] = s.volume(s.parameter(0));
        n.n[3] = before_rows(s);
        if (n.n[2] != n.n[1]) { // a table of more rows
            s.to.launch(kernels::table_gradient, {dy, s.gradient_to(s.parameter(0))}, n, n.n[2]);
            return;
        }
        if (!s.in_bf16()) { // a bias with as many channels as the table has elements
            s.to.add(bias_gradient{{to_int(n.n[0]), to_int(n.n[1]), 1, 1}}, {dy, s.gradient_to(s.parameter(0))});
            return;
        }
        s.to.launch(kernels::column_sums, {dy, s.gradient_to(s.parameter(0))}, n, n.n[1]);
    }
}

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
     .calls_backward = "cudaMemcpyAsync cudnnConvolutionBackwardBias kernel:table_gradient",
     .why = "no vendor call sums into a table that has more rows than there are positions",
     .code = kernels::embedding_code},
};

} // namespace tessera::cuda
