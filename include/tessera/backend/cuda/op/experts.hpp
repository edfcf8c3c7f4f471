// SPDX-License-Identifier: Apache-2.0
// Linear layers of experts as products of cublasLt, a batch of all experts of the shard for every sample, and the
// routes of tokens. The kernels give out slots of experts (op/expert.hpp): a block for each sample, a thread for each
// expert, which gives out its own slots. n of both: tokens and experts of the sample, slots of an expert, choices of a
// token; first and count of the shard's tokens; the same of its experts; 1 where gates are written instead of ones.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/products.hpp"
#include "tessera/op/expert.hpp"

#include <numeric>

namespace tessera::cuda::kernels {

inline constexpr kernel route_forward{"route_forward", true};
inline constexpr kernel route_gradient{"route_gradient", true};

// clang-format off
TESSERA_DEVICE_CODE(expert_code,

/// How many experts come before expert e for a token.
template <class T>
__device__ long long experts_before(const T* gates, long long experts, long long e) {
    const float own = gates[e];
    long long before = 0;
    for (long long other = 0; other < experts; ++other) {
        const float gate = gates[other];
        before += gate > own || (gate == own && other < e) ? 1 : 0;
    }
    return before;
}

/// at: gates[samples, tokens, experts], y[samples, tokens of the shard, experts of the shard * slots].
template <class T>
__device__ void route_forward_of(const arguments& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n[0] * a.n[1];
    const long long row = a.n[7] * a.n[2];
    T* y = pointer<T>(a, 1) + blockIdx.x * a.n[5] * row;
    for (long long k = threadIdx.x; k < a.n[7]; k += blockDim.x) {
        for (long long t = 0; t < a.n[5]; ++t) {
            for (long long slot = 0; slot < a.n[2]; ++slot) {
                y[t * row + k * a.n[2] + slot] = 0.0f;
            }
        }
        const long long e = a.n[6] + k;
        long long taken = 0;
        for (long long choice = 0; choice < a.n[3] && taken < a.n[2]; ++choice) {
            for (long long t = 0; t < a.n[0] && taken < a.n[2]; ++t) {
                if (experts_before(gates + t * a.n[1], a.n[1], e) != choice) {
                    continue;
                }
                const long long own = t - a.n[4];
                if (own >= 0 && own < a.n[5]) {
                    y[own * row + k * a.n[2] + taken] = a.n[8] == 1 ? static_cast<float>(gates[t * a.n[1] + e]) : 1.0f;
                }
                ++taken;
            }
        }
    }
}
TYPED_KERNEL(route_forward)

/// at: gates, dy, dx[samples, tokens, experts].
template <class T>
__device__ void route_gradient_of(const arguments& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n[0] * a.n[1];
    const long long row = a.n[7] * a.n[2];
    const T* dy = pointer<const T>(a, 1) + blockIdx.x * a.n[5] * row;
    T* dx = pointer<T>(a, 2) + blockIdx.x * a.n[0] * a.n[1];
    for (long long e = threadIdx.x; e < a.n[1]; e += blockDim.x) {
        for (long long t = 0; t < a.n[0]; ++t) {
            dx[t * a.n[1] + e] = 0.0f;
        }
        const long long k = e - a.n[6];
        if (k < 0 || k >= a.n[7]) {
            continue;
        }
        long long taken = 0;
        for (long long choice = 0; choice < a.n[3] && taken < a.n[2]; ++choice) {
            for (long long t = 0; t < a.n[0] && taken < a.n[2]; ++t) {
                if (experts_before(gates + t * a.n[1], a.n[1], e) != choice) {
                    continue;
                }
                const long long own = t - a.n[4];
                if (own >= 0 && own < a.n[5]) {
                    dx[t * a.n[1] + e] = dy[own * row + k * a.n[2] + taken];
                }
                ++taken;
            }
        }
    }
}
TYPED_KERNEL(route_gradient)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Experts of the shard, samples, slots of an expert, outputs and inputs.
struct expert_extents {
    index_t experts, samples, slots, outputs, inputs;

    explicit expert_extents(const shard_call& s);
};

/// Adds m for every expert: the matrices of expert e and sample n are `expert` * e + `sample` * n elements into their
/// memories. The samples of a single expert are rows of one matrix.
void add_expert_products(const shard_call& s, const expert_extents& e, matrix_product m, const memory_use (&memory)[3],
                         const index_t (&expert)[3], const index_t (&sample)[3]);

/// y[n,e] = x[n,e] w[e]^T, columns first.
void expert_forward(const shard_call& s);

/// The rows of every expert side by side, samples after one another: what a sum over samples takes.
memory_use by_expert(const shard_call& s, const expert_extents& e, memory_use rows, index_t columns);

void expert_backward(const shard_call& s);

// ---- routes ---------------------------------------------------------------------------------------------------------

kernel_numbers route_numbers(const shard_call& s);

void route_forward(const shard_call& s);

void route_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row expert_rows[] = {
    {.of = &op::expert_linear_record,
     .forward = detail::expert_forward,
     .backward = detail::expert_backward,
     .calls_forward = "cublasLtMatmul",
     .calls_backward = "cublasLtMatmul kernel:strided_copy_f32",
     .why = "a copy that brings each expert's rows of all samples together"},
    {.of = &op::route_record,
     .forward = detail::route_forward,
     .backward = detail::route_backward,
     .calls_forward = "kernel:route_forward",
     .calls_backward = "kernel:route_gradient",
     .why = "no vendor call gives out the slots of experts",
     .code = kernels::expert_code},
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/experts.inl"
#endif

#include "tessera/base/end_header.inl"
