// SPDX-License-Identifier: Apache-2.0
// Linear layers of experts as products of cublasLt, a batch of all experts of the shard for every sample, and the
// routes of tokens. The kernels give out slots of experts (op/expert.hpp): a block for each sample, a thread for each
// expert, which gives out its own slots.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/products.hpp"
#include "tessera/backend/cuda/kernels/row_order.hpp"
#include "tessera/op/expert.hpp"

#include <numeric>

namespace tessera::cuda::kernels {

inline constexpr kernel route_forward{"route_forward", true};
inline constexpr kernel route_gradient{"route_gradient", true};

// clang-format off
TESSERA_KERNELS(expert_code,

struct route_numbers {
    index_t tokens = 0; ///< of a sample
    index_t experts = 0;
    index_t slots = 0;       ///< of an expert
    index_t choices = 0;     ///< of a token
    index_t first_token = 0; ///< of the shard
    index_t own_tokens = 0;
    index_t first_expert = 0;
    index_t own_experts = 0;
    index_t weighted = 0; ///< gates are written instead of ones
};
,

/// at: gates[samples, tokens, experts], y[samples, tokens of the shard, experts of the shard * slots].
template <class T>
__device__ void route_forward_of(const given<route_numbers>& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n.tokens * a.n.experts;
    const long long row = a.n.own_experts * a.n.slots;
    T* y = pointer<T>(a, 1) + blockIdx.x * a.n.own_tokens * row;
    for (long long k = threadIdx.x; k < a.n.own_experts; k += blockDim.x) {
        for (long long t = 0; t < a.n.own_tokens; ++t) {
            for (long long slot = 0; slot < a.n.slots; ++slot) {
                y[t * row + k * a.n.slots + slot] = 0.0f;
            }
        }
        const long long e = a.n.first_expert + k;
        long long taken = 0;
        for (long long choice = 0; choice < a.n.choices && taken < a.n.slots; ++choice) {
            for (long long t = 0; t < a.n.tokens && taken < a.n.slots; ++t) {
                if (larger_before(gates + t * a.n.experts, a.n.experts, e) != choice) {
                    continue;
                }
                const long long own = t - a.n.first_token;
                if (own >= 0 && own < a.n.own_tokens) {
                    y[own * row + k * a.n.slots + taken] =
                        a.n.weighted == 1 ? static_cast<float>(gates[t * a.n.experts + e]) : 1.0f;
                }
                ++taken;
            }
        }
    }
}
TYPED_KERNEL(route_forward, route_numbers)

/// at: gates, dy, dx[samples, tokens, experts].
template <class T>
__device__ void route_gradient_of(const given<route_numbers>& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n.tokens * a.n.experts;
    const long long row = a.n.own_experts * a.n.slots;
    const T* dy = pointer<const T>(a, 1) + blockIdx.x * a.n.own_tokens * row;
    T* dx = pointer<T>(a, 2) + blockIdx.x * a.n.tokens * a.n.experts;
    for (long long e = threadIdx.x; e < a.n.experts; e += blockDim.x) {
        for (long long t = 0; t < a.n.tokens; ++t) {
            dx[t * a.n.experts + e] = 0.0f;
        }
        const long long k = e - a.n.first_expert;
        if (k < 0 || k >= a.n.own_experts) {
            continue;
        }
        long long taken = 0;
        for (long long choice = 0; choice < a.n.choices && taken < a.n.slots; ++choice) {
            for (long long t = 0; t < a.n.tokens && taken < a.n.slots; ++t) {
                if (larger_before(gates + t * a.n.experts, a.n.experts, e) != choice) {
                    continue;
                }
                const long long own = t - a.n.first_token;
                if (own >= 0 && own < a.n.own_tokens) {
                    dx[t * a.n.experts + e] = dy[own * row + k * a.n.slots + taken];
                }
                ++taken;
            }
        }
    }
}
TYPED_KERNEL(route_gradient, route_numbers)

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
/// Of this gradient of the output.
void expert_backward_of(const shard_call& s, memory_use dy);

// ---- routes ---------------------------------------------------------------------------------------------------------

kernels::route_numbers route_numbers_of(const shard_call& s);

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
