// SPDX-License-Identifier: Apache-2.0
// Bodies of experts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/experts.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE expert_extents::expert_extents(const shard_call& s)
    : experts(s.call.ranges[1].size()), samples(s.call.ranges[0].size()), slots(s.call.ranges[2].size()),
      outputs(s.call.ranges[3].size()), inputs(s.call.ranges[4].size()) {}

TESSERA_INLINE void add_expert_products(const shard_call& s, const expert_extents& e, matrix_product m,
                                        const memory_use (&memory)[3], const index_t (&expert)[3],
                                        const index_t (&sample)[3]) {
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
        s.to.add(m, std::move(parts));
    }
}

TESSERA_INLINE void expert_forward(const shard_call& s) {
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

TESSERA_INLINE memory_use by_expert(const shard_call& s, const expert_extents& e, memory_use rows, index_t columns) {
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

TESSERA_INLINE void expert_backward(const shard_call& s) { expert_backward_of(s, s.gradient(s.output())); }

TESSERA_INLINE void expert_backward_of(const shard_call& s, memory_use dy) {
    const expert_extents e(s);
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

TESSERA_INLINE kernels::route_numbers route_numbers_of(const shard_call& s) {
    const shape& gates = s.d.operands[s.input()].extents;
    const auto own = s.attributes().as<op::route_attributes>();
    const interval tokens = s.call.ranges[1];
    const interval experts = s.call.ranges[2];
    return {.tokens = gates[1],
            .experts = gates[2],
            .slots = own.slots,
            .choices = own.top,
            .first_token = tokens.begin,
            .own_tokens = tokens.size(),
            .first_expert = experts.begin,
            .own_experts = experts.size(),
            .weighted = own.weighted ? 1 : 0};
}

TESSERA_INLINE void route_forward(const shard_call& s) {
    s.to.launch_blocks(kernels::route_forward, {s.value(s.input()), s.value_to(s.output())},
                       kernel_numbers(route_numbers_of(s)), s.size(s.input(), 0), s.call.ranges[2].size() * 4);
}

TESSERA_INLINE void route_backward(const shard_call& s) {
    if (s.emits(s.input())) {
        s.to.launch_blocks(kernels::route_gradient,
                           {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.input())},
                           kernel_numbers(route_numbers_of(s)), s.size(s.input(), 0), s.size(s.input(), 2) * 4);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
