// SPDX-License-Identifier: Apache-2.0
// Bodies of linear.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/linear.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void linear_forward(const shard_call& s) {
    matrix_product m;
    m.m = s.size(s.parameter(0), 0);
    m.n = rows_of(s, s.output());
    m.k = s.size(s.parameter(0), 1);
    m.transpose_a = true;
    m.bias = s.parameter(1) >= 0 && s.call.first_part;
    m.positive = s.to.what().compute().activates;
    m.math = s.attributes().math;
    m.result = s.type();
    std::vector<memory_use> memory{s.factor(s.parameter(0)), s.value(s.input()), s.value_to(s.output())};
    if (m.bias) {
        memory.push_back(s.factor(s.parameter(1)));
    }
    add_product(s, m, std::move(memory));
}

TESSERA_INLINE void linear_backward(const shard_call& s) {
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
        add_product(s, m, std::move(memory));
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
        const kernels::matrix_numbers n{.rows = samples, .columns = outputs};
        s.to.launch(kernels::column_sums, {dy, db}, kernel_numbers(n), outputs);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
