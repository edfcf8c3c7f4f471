// SPDX-License-Identifier: Apache-2.0
// Pooling: x[N,C,H,W] -> y[N,C,H',W'] (max, average), y[N,C] (global average).
#pragma once

#include "tessera/op/conv2d.hpp"

namespace tessera::op {

constexpr description describe_pool(const op_attributes& a, const shape& x) {
    const index_t rows = window_output(a, 0, x[2]);
    const index_t columns = window_output(a, 1, x[3]);
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int c = w.add_loop(loop_name::channel, x[1]);
    const int h = w.add_loop(loop_name::height, rows);
    const int v = w.add_loop(loop_name::width, columns);
    const int r = w.add_loop(loop_name::window_height, a.window[0], true);
    const int s = w.add_loop(loop_name::window_width, a.window[1], true);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], c);
    w.index(input, x[2], window_index(a, 0, h, r));
    w.index(input, x[3], window_index(a, 1, v, s));
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], c);
    w.index(output, rows, h);
    w.index(output, columns, v);
    const bool is_max = a.kind == op_kind::max_pool;
    // The gradient of a maximum goes to the first of the largest elements, which is found from the input alone.
    w.d.operands[input].gradient_reads = is_max ? bit(input) : 0;
    w.d.linear = !is_max;
    w.add_nest(w.all_loops(), bit(input), output, is_max ? reducer::max : reducer::sum, 1);
    return w.d;
}

constexpr description describe_global_average_pool(const op_attributes&, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int c = w.add_loop(loop_name::channel, x[1]);
    const int h = w.add_loop(loop_name::height, x[2]);
    const int v = w.add_loop(loop_name::width, x[3]);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], c);
    w.index(input, x[2], h);
    w.index(input, x[3], v);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], c);
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, reducer::sum, 1);
    return w.d;
}

} // namespace tessera::op
