// SPDX-License-Identifier: Apache-2.0
// Tokens sent to experts and back (op/routing.hpp), and the experts' products: those of expert_linear, of full experts,
// whose empty rows are cleared. Each element has a thread, or each row, which adds in the order of the slots: no atomic
// sums, the same bits each time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/kernels/row_order.hpp"
#include "tessera/backend/cuda/op/experts.hpp"
#include "tessera/op/routing.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel assign_slots{"assign_slots", true};
inline constexpr kernel keep_top_forward{"keep_top_forward", true};
inline constexpr kernel keep_top_backward{"keep_top_backward", true};
inline constexpr kernel dispatch_forward{"dispatch_forward", true};
inline constexpr kernel dispatch_backward{"dispatch_backward", true};
inline constexpr kernel combine_rows_forward{"combine_rows_forward", true};
inline constexpr kernel combine_rows_backward{"combine_rows_backward", true};
inline constexpr kernel combine_gates_backward{"combine_gates_backward", true};
inline constexpr kernel clear_empty_rows{"clear_empty_rows", true};
inline constexpr kernel copy_filled_rows{"copy_filled_rows", true};

// clang-format off
TESSERA_KERNELS(routing_code,

struct routing_numbers {
    index_t samples = 0;
    index_t tokens = 0;      ///< of the shard
    index_t first_token = 0;
    index_t experts = 0;     ///< of the shard
    index_t first_expert = 0;
    index_t all_experts = 0;
    index_t slots = 0;       ///< of an expert
    index_t choices = 0;     ///< of a token
    index_t channels = 0;    ///< of the shard
    index_t normalized = 0;
};
,

/// at: gates[samples, tokens, all experts], table[samples, experts, slots]. A block for each sample, in which a thread
/// gives out the slots of an expert.
template <class T>
__device__ void assign_slots_of(const given<routing_numbers>& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n.tokens * a.n.all_experts;
    int* table = pointer<int>(a, 1) + blockIdx.x * a.n.experts * a.n.slots;
    for (long long k = threadIdx.x; k < a.n.experts; k += blockDim.x) {
        for (long long slot = 0; slot < a.n.slots; ++slot) {
            table[k * a.n.slots + slot] = 0;
        }
        long long taken = 0;
        for (long long choice = 0; choice < a.n.choices; ++choice) {
            for (long long t = 0; t < a.n.tokens && taken < a.n.slots; ++t) {
                if (larger_before(gates + t * a.n.all_experts, a.n.all_experts, a.n.first_expert + k) == choice) {
                    table[k * a.n.slots + taken] = static_cast<int>(t + 1);
                    ++taken;
                }
            }
        }
    }
}
TYPED_KERNEL(assign_slots, routing_numbers)

/// By what the numbers that are kept of a row are multiplied.
template <class T>
__device__ float scale_of_kept(const given<routing_numbers>& a, const T* row) {
    if (a.n.normalized != 1) {
        return 1.0f;
    }
    float sum = 0.0f;
    for (long long e = 0; e < a.n.all_experts; ++e) {
        sum += larger_before(row, a.n.all_experts, e) < a.n.choices ? static_cast<float>(row[e]) : 0.0f;
    }
    return sum != 0.0f ? 1.0f / sum : 1.0f;
}

/// at: x[samples, tokens, all experts], y[samples, tokens, experts].
template <class T>
__device__ void keep_top_forward_of(const given<routing_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.tokens; i += index_step()) {
        const T* row = pointer<const T>(a, 0) + i * a.n.all_experts;
        T* y = pointer<T>(a, 1) + i * a.n.experts;
        const float scale = scale_of_kept(a, row);
        for (long long k = 0; k < a.n.experts; ++k) {
            const long long e = a.n.first_expert + k;
            y[k] = larger_before(row, a.n.all_experts, e) < a.n.choices ? static_cast<float>(row[e]) * scale : 0.0f;
        }
    }
}
TYPED_KERNEL(keep_top_forward, routing_numbers)

/// at: x, dy, dx[samples, tokens, all experts].
template <class T>
__device__ void keep_top_backward_of(const given<routing_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.tokens; i += index_step()) {
        const T* row = pointer<const T>(a, 0) + i * a.n.all_experts;
        const T* dy = pointer<const T>(a, 1) + i * a.n.experts;
        T* dx = pointer<T>(a, 2) + i * a.n.all_experts;
        const float scale = scale_of_kept(a, row);
        float through_sum = 0.0f;
        for (long long k = 0; k < a.n.experts; ++k) {
            const long long e = a.n.first_expert + k;
            if (a.n.normalized == 1 && larger_before(row, a.n.all_experts, e) < a.n.choices) {
                through_sum += dy[k] * scale * row[e] * scale;
            }
        }
        for (long long e = 0; e < a.n.all_experts; ++e) {
            const long long k = e - a.n.first_expert;
            const float own = k >= 0 && k < a.n.experts ? static_cast<float>(dy[k]) * scale : 0.0f;
            dx[e] = larger_before(row, a.n.all_experts, e) < a.n.choices ? own - through_sum : 0.0f;
        }
    }
}
TYPED_KERNEL(keep_top_backward, routing_numbers)

/// The token of the shard that has a slot, or -1.
__device__ inline long long token_of_slot(const given<routing_numbers>& a, int entry) {
    const long long t = entry - 1 - a.n.first_token;
    return entry > 0 && t >= 0 && t < a.n.tokens ? t : -1;
}

/// at: x, table, y[samples, experts * slots, channels].
template <class T>
__device__ void dispatch_forward_of(const given<routing_numbers>& a) {
    const long long rows = a.n.experts * a.n.slots;
    for (long long i = first_index(); i < a.n.samples * rows * a.n.channels; i += index_step()) {
        const long long row = i / a.n.channels;
        const long long t = token_of_slot(a, pointer<const int>(a, 1)[row]);
        const long long from = ((row / rows) * a.n.tokens + t) * a.n.channels + i % a.n.channels;
        pointer<T>(a, 2)[i] = t >= 0 ? static_cast<float>(pointer<const T>(a, 0)[from]) : 0.0f;
    }
}
TYPED_KERNEL(dispatch_forward, routing_numbers)

/// at: table, dy, dx[samples, tokens, channels].
template <class T>
__device__ void dispatch_backward_of(const given<routing_numbers>& a) {
    const long long rows = a.n.experts * a.n.slots;
    for (long long i = first_index(); i < a.n.samples * a.n.tokens * a.n.channels; i += index_step()) {
        const long long t = i / a.n.channels % a.n.tokens;
        const long long first = i / (a.n.channels * a.n.tokens) * rows;
        float sum = 0.0f;
        for (long long row = first; row < first + rows; ++row) {
            if (token_of_slot(a, pointer<const int>(a, 0)[row]) == t) {
                sum += pointer<const T>(a, 1)[row * a.n.channels + i % a.n.channels];
            }
        }
        pointer<T>(a, 2)[i] = sum;
    }
}
TYPED_KERNEL(dispatch_backward, routing_numbers)

/// at: gates[samples, tokens, experts], table, x[samples, experts * slots, channels], y[samples, tokens, channels].
template <class T>
__device__ void combine_rows_forward_of(const given<routing_numbers>& a) {
    const long long rows = a.n.experts * a.n.slots;
    for (long long i = first_index(); i < a.n.samples * a.n.tokens * a.n.channels; i += index_step()) {
        const long long t = i / a.n.channels % a.n.tokens;
        const long long first = i / (a.n.channels * a.n.tokens) * rows;
        const T* gates = pointer<const T>(a, 0) + i / a.n.channels * a.n.experts;
        float sum = 0.0f;
        for (long long k = 0; k < rows; ++k) {
            if (token_of_slot(a, pointer<const int>(a, 1)[first + k]) == t) {
                sum += gates[k / a.n.slots] * pointer<const T>(a, 2)[(first + k) * a.n.channels + i % a.n.channels];
            }
        }
        pointer<T>(a, 3)[i] = sum;
    }
}
TYPED_KERNEL(combine_rows_forward, routing_numbers)

/// at: gates, table, dy, dx[samples, experts * slots, channels].
template <class T>
__device__ void combine_rows_backward_of(const given<routing_numbers>& a) {
    const long long rows = a.n.experts * a.n.slots;
    for (long long i = first_index(); i < a.n.samples * rows * a.n.channels; i += index_step()) {
        const long long row = i / a.n.channels;
        const long long t = token_of_slot(a, pointer<const int>(a, 1)[row]);
        const long long token = row / rows * a.n.tokens + t;
        pointer<T>(a, 3)[i] = t >= 0 ? pointer<const T>(a, 0)[token * a.n.experts + row % rows / a.n.slots] *
                                           pointer<const T>(a, 2)[token * a.n.channels + i % a.n.channels]
                                     : 0.0f;
    }
}
TYPED_KERNEL(combine_rows_backward, routing_numbers)

/// at: table, x, dy, dgates[samples, tokens, experts].
template <class T>
__device__ void combine_gates_backward_of(const given<routing_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.tokens * a.n.experts; i += index_step()) {
        const long long token = i / a.n.experts;
        const long long first = (token / a.n.tokens * a.n.experts + i % a.n.experts) * a.n.slots;
        float sum = 0.0f;
        for (long long row = first; row < first + a.n.slots; ++row) {
            if (token_of_slot(a, pointer<const int>(a, 0)[row]) == token % a.n.tokens) {
                for (long long c = 0; c < a.n.channels; ++c) {
                    sum += pointer<const T>(a, 1)[row * a.n.channels + c] *
                           pointer<const T>(a, 2)[token * a.n.channels + c];
                }
            }
        }
        pointer<T>(a, 3)[i] = sum;
    }
}
TYPED_KERNEL(combine_gates_backward, routing_numbers)

/// at: table, y[samples, experts * slots, channels].
template <class T>
__device__ void clear_empty_rows_of(const given<routing_numbers>& a) {
    const long long count = a.n.samples * a.n.experts * a.n.slots * a.n.channels;
    for (long long i = first_index(); i < count; i += index_step()) {
        if (pointer<const int>(a, 0)[i / a.n.channels] <= 0) {
            pointer<T>(a, 1)[i] = 0.0f;
        }
    }
}
TYPED_KERNEL(clear_empty_rows, routing_numbers)

/// at: table, x, y; zeros in empty rows.
template <class T>
__device__ void copy_filled_rows_of(const given<routing_numbers>& a) {
    const long long count = a.n.samples * a.n.experts * a.n.slots * a.n.channels;
    for (long long i = first_index(); i < count; i += index_step()) {
        const bool filled = pointer<const int>(a, 0)[i / a.n.channels] > 0;
        pointer<T>(a, 2)[i] = filled ? static_cast<float>(pointer<const T>(a, 1)[i]) : 0.0f;
    }
}
TYPED_KERNEL(copy_filled_rows, routing_numbers)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Samples and experts of the shard; the others say the rest.
kernels::routing_numbers routing_numbers_of(const shard_call& s);
kernels::routing_numbers keep_top_numbers(const shard_call& s);
/// With the slots, and the channels of an operand.
kernels::routing_numbers row_numbers(const shard_call& s, int o);
/// With its tokens as well.
kernels::routing_numbers token_numbers(const shard_call& s, int o);

void token_slots_forward(const shard_call& s);
void no_gradient(const shard_call& s);
void keep_top_forward(const shard_call& s);
void keep_top_backward(const shard_call& s);
void dispatch_forward(const shard_call& s);
void dispatch_backward(const shard_call& s);
void combine_tokens_forward(const shard_call& s);
void combine_tokens_backward(const shard_call& s);
void routed_linear_forward(const shard_call& s);
void routed_linear_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row routing_rows[] = {
    {.of = &op::token_slots_record,
     .forward = detail::token_slots_forward,
     .backward = detail::no_gradient,
     .calls_forward = "kernel:assign_slots",
     .calls_backward = "-",
     .why = "no vendor call gives out the slots of experts",
     .code = kernels::routing_code},
    {.of = &op::keep_top_record,
     .forward = detail::keep_top_forward,
     .backward = detail::keep_top_backward,
     .calls_forward = "kernel:keep_top_forward",
     .calls_backward = "kernel:keep_top_backward",
     .why = "no vendor call keeps the largest numbers of rows",
     .code = kernels::routing_code},
    {.of = &op::dispatch_tokens_record,
     .forward = detail::dispatch_forward,
     .backward = detail::dispatch_backward,
     .calls_forward = "kernel:dispatch_forward",
     .calls_backward = "kernel:dispatch_backward",
     .why = "no vendor call takes rows by index",
     .code = kernels::routing_code},
    {.of = &op::combine_tokens_record,
     .forward = detail::combine_tokens_forward,
     .backward = detail::combine_tokens_backward,
     .calls_forward = "kernel:combine_rows_forward",
     .calls_backward = "kernel:combine_gates_backward kernel:combine_rows_backward",
     .why = "no vendor call sums rows by index",
     .code = kernels::routing_code},
    {.of = &op::routed_linear_record,
     .forward = detail::routed_linear_forward,
     .backward = detail::routed_linear_backward,
     .calls_forward = "cublasLtMatmul kernel:clear_empty_rows",
     .calls_backward = "kernel:copy_filled_rows cublasLtMatmul kernel:strided_copy_f32",
     .why =
         "empty slots hold zeros, and add nothing to weights; each expert's rows of all samples are brought together",
     .code = kernels::routing_code},
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/routing.inl"
#endif

#include "tessera/base/end_header.inl"
