// SPDX-License-Identifier: Apache-2.0
// Bodies of matmul.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/matmul.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE matmul_extents extents_of_matmul(const shard_call& s) {
    const int last = s.d.loops.size() - 1;
    matmul_extents e;
    e.samples = s.call.ranges[0].size();
    e.heads = last == 4 ? s.call.ranges[1].size() : 1;
    e.rows = s.call.ranges[last - 2].size();
    e.columns = s.call.ranges[last - 1].size();
    e.summed = s.call.ranges[last].size();
    if (s.attributes().as<op::matmul_attributes>().scaled) {
        e.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.d.loops[last].extent)));
    }
    return e;
}

TESSERA_INLINE matrix_side side_of(const shard_call& s, int o, memory_use memory, bool transposed) {
    const box b = s.region_of(o);
    const index_t heads = s.attributes().as<op::matmul_attributes>().heads;
    matrix_side m{memory, b.dim[b.rank - 1].size(), 0, 0, transposed};
    const index_t matrix = m.row * b.dim[b.rank - 2].size();
    if (b.rank == 4) {
        m.head = matrix;
        m.sample = matrix * b.dim[1].size();
    } else {
        m.head = heads > 1 ? s.d.operands[o].extents[2] / heads : 0;
        m.sample = matrix;
    }
    return m;
}

TESSERA_INLINE void add_products(const shard_call& s, const matmul_extents& e, const matrix_side& x,
                                 const matrix_side& y, const matrix_side& to) {
    const matrix_side* const sides[] = {&y, &x, &to};
    matrix_product m;
    m.m = e.columns;
    m.n = e.rows;
    m.k = e.summed;
    m.transpose_a = y.transposed;
    m.transpose_b = x.transposed;
    m.scale = e.scale;
    m.math = s.attributes().math;
    m.result = s.type();
    const index_t size = bytes_of(s.type());
    bool together = true;
    for (const matrix_side* side : sides) {
        together = together && (e.heads == 1 || e.samples == 1 || side->sample == e.heads * side->head);
    }
    const bool over_samples = e.heads == 1 || (!together && e.samples >= e.heads);
    const index_t calls = together ? 1 : over_samples ? e.heads : e.samples;
    m.batch = together ? e.samples * e.heads : over_samples ? e.samples : e.heads;
    to_int(m.batch);
    index_t step[3];
    for (int i = 0; i < 3; ++i) {
        m.lead[i] = sides[i]->row;
        m.apart[i] = over_samples ? sides[i]->sample : sides[i]->head;
        step[i] = over_samples ? sides[i]->head : sides[i]->sample;
        m.alignment = calls > 1 ? std::gcd(m.alignment, step[i] * size) : m.alignment;
    }
    m = s.algorithms.choose(m);
    const memory_use workspace = m.workspace > 0 ? s.to.take(m.workspace) : memory_use{};
    for (index_t c = 0; c < calls; ++c) {
        std::vector<memory_use> memory;
        for (int i = 0; i < 3; ++i) {
            memory_use part = composer::from(sides[i]->memory, c * step[i] * size);
            part.bytes = m.span_of(i) * size;
            memory.push_back(part);
        }
        if (m.workspace > 0) {
            memory.push_back(workspace);
        }
        s.to.add(m, std::move(memory));
    }
}

TESSERA_INLINE void matmul_forward(const shard_call& s) {
    const op::matmul_attributes own = s.attributes().as<op::matmul_attributes>();
    const flag* const transposed = own.transposed;
    add_products(s, extents_of_matmul(s), side_of(s, s.input(0), s.value(s.input(0)), transposed[0]),
                 side_of(s, s.input(1), s.value(s.input(1)), transposed[1]),
                 side_of(s, s.output(), s.value_to(s.output()), false));
}

TESSERA_INLINE void matmul_backward(const shard_call& s) {
    const op::matmul_attributes own = s.attributes().as<op::matmul_attributes>();
    const flag* const transposed = own.transposed;
    const matmul_extents e = extents_of_matmul(s);
    for (int k = 0; k < 2; ++k) {
        const int o = s.input(k);
        if (!s.emits(o)) {
            continue;
        }
        const int other = s.input(1 - k);
        const memory_use to = s.gradient_to(o);
        // A split of what is summed over leaves gaps between heads that lie side by side.
        if (e.samples * e.heads * (k == 0 ? e.rows : e.columns) * e.summed != s.volume(o)) {
            s.to.add(memory_clear{}, {to});
        }
        const matrix_side target = side_of(s, o, to, false);
        // The gradient of the output comes first where it holds the rows of the result, as it does for x as it is and y
        // transposed.
        const bool output_first = transposed[k] == (k == 1);
        const matrix_side dz = side_of(s, s.output(), s.gradient(s.output()), transposed[k]);
        const matrix_side factor = side_of(s, other, s.value(other), output_first == (transposed[1 - k] == (k == 1)));
        matmul_extents g = e;
        g.summed = k == 0 ? e.columns : e.rows;
        const index_t outer = k == 0 ? e.rows : e.columns;
        g.rows = output_first ? outer : e.summed;
        g.columns = output_first ? e.summed : outer;
        add_products(s, g, output_first ? dz : factor, output_first ? factor : dz, target);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
