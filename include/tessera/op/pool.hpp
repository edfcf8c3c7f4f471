// SPDX-License-Identifier: Apache-2.0
// Pooling: x[N,C,H,W] -> y[N,C,H',W'] (max, average), y[N,C] (global average).
#pragma once

#include "tessera/op/conv2d.hpp"

namespace tessera::op {

struct pool_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side; of -infinity in a max pool
    index_t dilation[2] = {1, 1}; ///< height, width
};
struct average_pool_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side
    index_t dilation[2] = {1, 1}; ///< height, width
    flag count_padding = false;   ///< the divisor counts the padding too
};

constexpr description describe_pool(const window_attributes& a, const shape& x, bool is_max) {
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

constexpr inferred infer_global_average_pool(const shape& x) {
    return x.rank == 4 ? inferred{{}, make_shape(x[0], x[1])} : detail::refuse(rule::input_has_wrong_rank, x.rank, 4);
}

inline constexpr op_record max_pool_record{
    .name = "max_pool",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_window(a.as<window_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_pool(a.as<window_attributes>(), *x, true); },
};
inline constexpr op_record average_pool_record{
    .name = "average_pool",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_window(a.as<window_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_pool(a.as<window_attributes>(), *x, false); },
};
inline constexpr op_record global_average_pool_record{
    .name = "global_average_pool",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_global_average_pool(*x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_global_average_pool(a, *x); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::max_pool{&op::max_pool_record};
inline constexpr op_kind op_kind::average_pool{&op::average_pool_record};
inline constexpr op_kind op_kind::global_average_pool{&op::global_average_pool_record};

/// max_pool<window, stride<>, padding<>>; the stride is the window unless said otherwise.
template <index_t Window, class... Options>
struct max_pool {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::max_pool, Options...>(
        op::pool_attributes{.window = {Window, Window}, .stride = {Window, Window}});
};
/// average_pool<window, stride<>, padding<>, count_padding>.
template <index_t Window, class... Options>
struct average_pool {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::average_pool, Options...>(
        op::average_pool_attributes{.window = {Window, Window}, .stride = {Window, Window}});
};
/// [N,C,H,W] -> [N,C].
struct global_average_pool : detail::simple_layer<op_kind::global_average_pool> {};

} // namespace tessera
