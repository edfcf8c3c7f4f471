// SPDX-License-Identifier: Apache-2.0
// Linear layers of experts as products of cublasLt, a batch of all experts of the shard for every sample, and the routes of tokens.
// The kernels give out slots of experts (op/expert.hpp): a block for each sample, a thread for each expert, which gives out its own slots.
// n of both: tokens and experts of the sample, slots of an expert, choices of a token; first and count of the shard's tokens; the same
// of its experts; 1 where gates are written instead of ones.
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

    explicit expert_extents(const shard_call& s)
        : experts(s.call.ranges[1].size()), samples(s.call.ranges[0].size()), slots(s.call.ranges[2].size()),
          outputs(s.call.ranges[3].size()), inputs(s.call.ranges[4].size()) {}
};

/// Adds m for every expert: the matrices of expert e and sample n are `expert` * e + `sample` * n elements into their memories. The
/// samples of a single expert are rows of one matrix.
inline void add_expert_products(const shard_call& s, const expert_extents& e, matrix_product m,
                                const memory_use (&memory)[3], const index_t (&expert)[3], const index_t (&sample)[3]) {
    const index_t calls = e.experts == 1 ? 1 : e.samples;
    if (e.experts == 1) {
        m.n *= e.samples;
    }
    m.batch = e.experts;
    m.math = s.attributes().math;
    m.result = s.type();
    to_int(m.batch);
    for (int i = 0; i < 3; ++i) {
        m.apart[i] = expert[i];
        m.alignment = calls > 1 ? std::gcd(m.alignment, sample[i] * bytes_of(s.type())) : m.alignment;
    }
    m = s.algorithms.choose(m);
    const memory_use workspace = m.workspace > 0 ? s.to.take(m.workspace) : memory_use{};
    for (index_t n = 0; n < calls; ++n) {
        std::vector<memory_use> parts;
        for (int i = 0; i < 3; ++i) {
            memory_use part = composer::from(memory[i], n * sample[i] * bytes_of(s.type()));
            part.bytes = m.span_of(i) * bytes_of(s.type());
            parts.push_back(part);
        }
        if (m.workspace > 0) {
            parts.push_back(workspace);
        }
        s.to.add(m, static_cast<std::vector<memory_use>&&>(parts));
    }
}

/// y[n,e] = x[n,e] w[e]^T, columns first.
inline void expert_forward(const shard_call& s) {
    const expert_extents e(s);
    matrix_product m;
    m.m = e.outputs;
    m.n = e.slots;
    m.k = e.inputs;
    m.transpose_a = true;
    const index_t x = e.slots * e.inputs;
    const index_t y = e.slots * e.outputs;
    add_expert_products(s, e, m, {s.factor(s.parameter(0)), s.value(s.input()), s.value_to(s.output())},
                        {e.outputs * e.inputs, x, y}, {0, e.experts * x, e.experts * y});
}

/// The rows of every expert side by side, samples after one another: what a sum over samples takes.
inline memory_use by_expert(const shard_call& s, const expert_extents& e, memory_use rows, index_t columns) {
    if (e.experts == 1 || e.samples == 1) {
        return rows;
    }
    const index_t block = e.slots * columns;
    const memory_use to = s.to.take(rows.bytes);
    strided_box b;
    const index_t counts[] = {1, 1, e.samples, e.experts, block};
    const index_t from[] = {0, 0, e.experts * block, block, 1};
    const index_t into[] = {0, 0, block, e.samples * block, 1};
    for (int k = 0; k < 5; ++k) {
        b.count[k] = counts[k];
        b.from[k] = from[k];
        b.to[k] = into[k];
    }
    s.to.copy(b, rows, to, s.type(), true, reducer::none);
    return composer::as_read(to);
}

inline void expert_backward(const shard_call& s) {
    const expert_extents e(s);
    const memory_use dy = s.gradient(s.output());
    const index_t matrix = e.outputs * e.inputs;
    if (s.emits(s.input())) { // dx[n,e] = dy[n,e] w[e]
        matrix_product m;
        m.m = e.inputs;
        m.n = e.slots;
        m.k = e.outputs;
        const index_t x = e.slots * e.inputs;
        const index_t y = e.slots * e.outputs;
        add_expert_products(s, e, m, {s.factor(s.parameter(0)), dy, s.gradient_to(s.input())}, {matrix, y, x},
                            {0, e.experts * y, e.experts * x});
    }
    if (s.emits(s.parameter(0))) { // dw[e] = sum of dy[n,e]^T x[n,e] over the samples
        const index_t rows = e.samples * e.slots;
        matrix_product m;
        m.m = e.inputs;
        m.n = e.outputs;
        m.k = rows;
        m.transpose_b = true;
        m.math = s.attributes().math;
        m.batch = e.experts;
        to_int(m.batch);
        m.apart[0] = rows * e.inputs;
        m.apart[1] = rows * e.outputs;
        m.apart[2] = matrix;
        const memory_use x = by_expert(s, e, s.value(s.input()), e.inputs);
        const memory_use y = by_expert(s, e, dy, e.outputs);
        add_product(s, m, {x, y, s.gradient_to(s.parameter(0))});
    }
}

// ---- routes ----------------------------------------------------------------------------------------------------------

inline kernel_numbers route_numbers(const shard_call& s) {
    const shape& gates = s.d.operands[s.input()].extents;
    kernel_numbers n;
    n.n[0] = gates[1];
    n.n[1] = gates[2];
    const auto own = s.attributes().as<op::route_attributes>();
    n.n[2] = own.slots;
    n.n[3] = own.top;
    for (int k = 0; k < 2; ++k) {
        n.n[4 + 2 * k] = s.call.ranges[1 + k].begin;
        n.n[5 + 2 * k] = s.call.ranges[1 + k].size();
    }
    n.n[8] = own.weighted ? 1 : 0;
    return n;
}

inline void route_forward(const shard_call& s) {
    s.to.launch_blocks(kernels::route_forward, {s.value(s.input()), s.value_to(s.output())}, route_numbers(s),
                       s.size(s.input(), 0), s.call.ranges[2].size() * 4);
}

inline void route_backward(const shard_call& s) {
    if (s.emits(s.input())) {
        s.to.launch_blocks(kernels::route_gradient,
                           {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.input())}, route_numbers(s),
                           s.size(s.input(), 0), s.size(s.input(), 2) * 4);
    }
}

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

#include "tessera/base/end_header.inl"
