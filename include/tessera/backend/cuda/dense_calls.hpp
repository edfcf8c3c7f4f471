// SPDX-License-Identifier: Apache-2.0
// Matrix products and operators that treat every element by itself.
#pragma once

#include "tessera/backend/cuda/compose.hpp"

namespace tessera::cuda::detail {

// ---- linear ----------------------------------------------------------------------------------------------------------
// cublasLt counts columns first: a row-major [rows, columns] is its columns x rows.

inline void add_product(const shard_call& s, matrix_product m, std::vector<memory_use> memory) {
    m = s.algorithms.choose(m);
    if (m.workspace > 0) {
        memory.push_back(s.to.take(m.workspace));
    }
    s.to.add(m, static_cast<std::vector<memory_use>&&>(memory));
}

/// Rows of a tensor whose last dimension are its features: samples, or samples times positions.
inline index_t rows_of(const shard_call& s, int o) {
    const box b = s.region_of(o);
    return b.volume() / b.dim[b.rank - 1].size();
}

/// y[n,o] = sum of x[n,i] w[o,i] + b[o]; a position of a sequence is a row like a sample.
inline void linear_forward(const shard_call& s) {
    matrix_product m;
    m.m = s.size(s.parameter(0), 0);
    m.n = rows_of(s, s.output());
    m.k = s.size(s.parameter(0), 1);
    m.transpose_a = true;
    m.bias = s.parameter(1) >= 0 && s.call.first_part;
    m.positive = s.to.what().activates;
    m.math = s.attributes().math;
    m.result = s.type();
    std::vector<memory_use> memory{s.factor(s.parameter(0)), s.value(s.input()), s.value_to(s.output())};
    if (m.bias) {
        memory.push_back(s.factor(s.parameter(1)));
    }
    add_product(s, m, static_cast<std::vector<memory_use>&&>(memory));
}

inline void linear_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    const index_t samples = rows_of(s, s.output());
    const index_t outputs = s.size(s.parameter(0), 0);
    const index_t inputs = s.size(s.parameter(0), 1);
    if (s.emits(s.input())) { // dx[n,i] = sum of dy[n,o] w[o,i]
        matrix_product m;
        m.m = inputs;
        m.n = samples;
        m.k = outputs;
        m.math = s.attributes().math;
        m.result = s.type();
        add_product(s, m, {s.factor(s.parameter(0)), dy, s.gradient_to(s.input())});
    }
    if (s.emits(s.parameter(0))) { // dw[o,i] = sum of dy[n,o] x[n,i]
        matrix_product m;
        m.m = inputs;
        m.n = outputs;
        m.k = samples;
        m.transpose_b = true;
        m.math = s.attributes().math;
        m.sums = s.to.fuses() && s.emits(s.parameter(1)) && s.call.first_part;
        std::vector<memory_use> memory{s.value(s.input()), dy, s.gradient_to(s.parameter(0))};
        if (m.sums) {
            memory.push_back(s.gradient_to(s.parameter(1)));
        }
        add_product(s, m, static_cast<std::vector<memory_use>&&>(memory));
        if (m.sums) {
            return;
        }
    }
    if (s.emits(s.parameter(1))) {
        const memory_use db = s.gradient_to(s.parameter(1));
        if (!s.call.first_part) {
            s.to.add(memory_clear{}, {db});
            return;
        }
        if (!s.in_bf16()) {
            s.to.add(bias_gradient{{to_int(samples), to_int(outputs), 1, 1}}, {dy, db});
            return;
        }
        kernel_numbers n;
        n.n[0] = samples;
        n.n[1] = outputs;
        s.to.launch(kernel_id::column_sums, {dy, db}, n, outputs);
    }
}

// ---- element by element ----------------------------------------------------------------------------------------------

inline kernel_numbers count_of(index_t elements) {
    kernel_numbers n;
    n.n[0] = elements;
    return n;
}

inline void activation_forward(const shard_call& s) {
    const index_t count = s.volume(s.output());
    if (s.attributes().kind == op_kind::gelu) {
        s.to.launch(kernel_id::gelu_forward, {s.value(s.input()), s.value_to(s.output())}, count_of(count), count);
        return;
    }
    to_int(count);
    s.to.add(activation{s.attributes().kind, false, count, s.type()}, {s.value(s.input()), s.value_to(s.output())});
}

inline void activation_backward(const shard_call& s) {
    const index_t count = s.volume(s.output());
    const memory_use dy = s.gradient(s.output());
    const memory_use dx = s.gradient_to(s.input());
    if (s.attributes().kind == op_kind::gelu) {
        s.to.launch(kernel_id::gelu_backward, {s.value(s.input()), dy, dx}, count_of(count), count);
        return;
    }
    to_int(count);
    s.to.add(activation{s.attributes().kind, true, count, s.type()}, {s.value(s.output()), dy, dx});
}

/// a + b or a * b: cuDNN's in fp32. It does not say that it takes bf16.
inline void combine(const shard_call& s, bool multiplies, memory_use a, memory_use b, memory_use to) {
    const index_t count = s.volume(s.output());
    if (s.in_bf16()) {
        s.to.launch(multiplies ? kernel_id::multiply : kernel_id::add, {a, b, to}, count_of(count), count);
        return;
    }
    to_int(count);
    s.to.add(tensor_operation{multiplies, count}, {a, b, to});
}

inline void combine_forward(const shard_call& s) {
    combine(s, s.attributes().kind == op_kind::multiply, s.value(s.input(0)), s.value(s.input(1)),
            s.value_to(s.output()));
}

/// The gradient of one factor is the output's times the other.
inline void multiply_backward(const shard_call& s) {
    for (int k = 0; k < 2; ++k) {
        if (s.emits(s.input(k))) {
            combine(s, true, s.gradient(s.output()), s.value(s.input(1 - k)), s.gradient_to(s.input(k)));
        }
    }
}

/// Forward and backward alike. The mask's index is that of the element, or of the sample's channel, in the whole tensor.
inline void drop(const shard_call& s, memory_use from, memory_use to) {
    const box tile = s.region_of(s.output());
    const shape& all = s.d.operands[s.output()].extents;
    kernel_numbers n;
    for (int k = 0; k < 5; ++k) {
        n.n[k] = 1;
    }
    index_t step = 1;
    for (int d = tile.rank - 1, k = 4; d >= 0; --d, --k) {
        n.n[k] = tile.dim[d].size();
        n.n[5 + k] = tile.dim[d].begin;
        n.n[10 + k] = s.attributes().kind == op_kind::dropout ? step : d == 0 ? all[1] : d == 1 ? 1 : 0;
        step *= all[d];
    }
    n.n[15] = s.call.op;
    n.n[16] = s.attributes().percent;
    n.f[0] = op::kept_scale(s.attributes().percent);
    s.to.launch(kernel_id::dropout, {from, to}, n, tile.volume(), true);
}

inline void dropout_forward(const shard_call& s) {
    const memory_use from = s.value(s.input());
    const memory_use to = s.value_to(s.output());
    if (s.call.what == pass::evaluate) {
        s.to.add(memory_copy{}, {from, to});
    } else {
        drop(s, from, to);
    }
}

inline void dropout_backward(const shard_call& s) { drop(s, s.gradient(s.output()), s.gradient_to(s.input())); }

// ---- concatenation ---------------------------------------------------------------------------------------------------

/// A region of input `o` in the output's coordinates.
inline box in_output(const shard_call& s, int o, box b) {
    const int axis = op::axis_of(s.attributes(), b.rank);
    const index_t offset = -s.d.operands[o].dim[axis].offset;
    b.dim[axis] = {b.dim[axis].begin + offset, b.dim[axis].end + offset};
    return b;
}

inline void concat_forward(const shard_call& s) {
    const box y = s.region_of(s.output());
    for (int k = 0; s.input(k) >= 0; ++k) {
        const int o = s.input(k);
        const box x = s.region_of(o);
        if (!x.empty()) {
            s.to.copy(box_between(x, x, in_output(s, o, x), y), s.value(o), s.value_to(s.output()), s.type(), true,
                      reducer::none);
        }
    }
}

inline void concat_backward(const shard_call& s) {
    const box y = s.region_of(s.output());
    for (int k = 0; s.input(k) >= 0; ++k) {
        const int o = s.input(k);
        const box x = s.region_of(o);
        if (s.emits(o) && !x.empty()) {
            s.to.copy(box_between(in_output(s, o, x), y, x, x), s.gradient(s.output()), s.gradient_to(o), s.type(),
                      true, reducer::none);
        }
    }
}

} // namespace tessera::cuda::detail
