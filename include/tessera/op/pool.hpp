// SPDX-License-Identifier: Apache-2.0
// Pooling: x[N,C,H,W] -> y[N,C,H',W'], x[N,C,D,H,W] -> y[N,C,D',H',W'] (max, average), y[N,C] (global average).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"
#include "tessera/op/window.hpp"

namespace tessera::op {

struct pool_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side; of -infinity in a max pool
    index_t dilation[2] = {1, 1}; ///< height, width
    static constexpr attribute_field fields[] = {
        {"window", 2, 1}, {"stride", 2, 1}, {"padding", 2}, {"dilation", 2, 1}};
};
struct average_pool_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side
    index_t dilation[2] = {1, 1}; ///< height, width
    flag count_padding = false;   ///< the divisor counts the padding too
    static constexpr attribute_field fields[] = {
        {"window", 2, 1}, {"stride", 2, 1}, {"padding", 2}, {"dilation", 2, 1}, flag_field("count_padding")};
};

struct pool3d_attributes {
    index_t window[3] = {1, 1, 1};   ///< depth, height, width
    index_t stride[3] = {1, 1, 1};   ///< depth, height, width
    index_t padding[3] = {0, 0, 0};  ///< planes, rows and columns of zeros on each side; of -infinity in a max pool
    index_t dilation[3] = {1, 1, 1}; ///< depth, height, width
    static constexpr attribute_field fields[] = {
        {"window", 3, 1}, {"stride", 3, 1}, {"padding", 3}, {"dilation", 3, 1}};
};
struct average_pool3d_attributes {
    index_t window[3] = {1, 1, 1};   ///< depth, height, width
    index_t stride[3] = {1, 1, 1};   ///< depth, height, width
    index_t padding[3] = {0, 0, 0};  ///< planes, rows and columns of zeros on each side
    index_t dilation[3] = {1, 1, 1}; ///< depth, height, width
    flag count_padding = false;      ///< the divisor counts the padding too
    static constexpr attribute_field fields[] = {
        {"window", 3, 1}, {"stride", 3, 1}, {"padding", 3}, {"dilation", 3, 1}, flag_field("count_padding")};
};

/// Whether an average pool of an input of this rank counts the padding. (A max pool's attributes say no.)
constexpr bool counts_padding(const op_attributes& a, int rank) {
    return rank == 5 ? a.as<average_pool3d_attributes>().count_padding : a.as<average_pool_attributes>().count_padding;
}

constexpr description describe_pool(const windows& a, const shape& x, bool is_max) {
    detail::describer w;
    window_loops at;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int c = w.add_loop(loop_name::channel, x[1]);
    at.add_output(w, a, x);
    at.add_window(w, a);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], c);
    at.index_input(w, a, x, input);
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], c);
    at.index_output(w, a, output);
    // The gradient of a maximum goes to the first of the largest elements, which is found from the input alone.
    w.d.operands[input].gradient_reads = is_max ? bit(input) : 0;
    w.d.linear = !is_max;
    w.add_nest(w.all_loops(), bit(input), output, is_max ? reducer::max : reducer::sum, 1);
    return w.d;
}

constexpr description describe_global_average_pool(const op_attributes&, const shape& x) {
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    const int input = w.add_operand(operand_kind::input, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(input, x[d], d);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], 0);
    w.index(output, x[1], 1);
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, reducer::sum, 1);
    return w.d;
}

constexpr inferred infer_global_average_pool(const shape& x) {
    const inferred r = detail::infer_rank(x, 4, 5);
    return r.refused ? r : inferred{{}, make_shape(x[0], x[1])};
}

/// The record of a pool whose own attributes are Named, of which Own are the first: of images or of volumes.
template <class Own, bool IsMax, class Named>
constexpr op_record pool_record(const char* name) {
    return {
        .name = name,
        .infer = [](const op_attributes& a, const shape* x, int) { return infer_window(windows_of(a.as<Own>()), *x); },
        .describe = [](const op_attributes& a, const shape* x,
                       int) { return describe_pool(windows_of(a.as<Own>()), *x, IsMax); },
        .own = list_of<Named>(),
    };
}

inline constexpr op_record max_pool_record = pool_record<window_attributes, true, pool_attributes>("max_pool");
inline constexpr op_record average_pool_record =
    pool_record<window_attributes, false, average_pool_attributes>("average_pool");
inline constexpr op_record max_pool3d_record = pool_record<window3d_attributes, true, pool3d_attributes>("max_pool3d");
inline constexpr op_record average_pool3d_record =
    pool_record<window3d_attributes, false, average_pool3d_attributes>("average_pool3d");
inline constexpr op_record global_average_pool_record{
    .name = "global_average_pool",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_global_average_pool(*x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_global_average_pool(a, *x); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::max_pool{&op::max_pool_record};
inline constexpr op_kind op_kind::average_pool{&op::average_pool_record};
inline constexpr op_kind op_kind::max_pool3d{&op::max_pool3d_record};
inline constexpr op_kind op_kind::average_pool3d{&op::average_pool3d_record};
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
/// max_pool3d<window, stride<>, padding<>>: [N,C,D,H,W] -> [N,C,D',H',W']; the stride is the window unless said
/// otherwise. As options, window<> and stride<> say depth, height and width: max_pool3d<1, window<1, 2, 2>, stride<1,
/// 2, 2>>.
template <index_t Window, class... Options>
struct max_pool3d {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::max_pool3d, Options...>(
        op::pool3d_attributes{.window = {Window, Window, Window}, .stride = {Window, Window, Window}});
};
/// average_pool3d<window, stride<>, padding<>, count_padding>.
template <index_t Window, class... Options>
struct average_pool3d {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::average_pool3d, Options...>(
        op::average_pool3d_attributes{.window = {Window, Window, Window}, .stride = {Window, Window, Window}});
};
/// [N,C,H,W] or [N,C,D,H,W] -> [N,C].
struct global_average_pool : detail::simple_layer<op_kind::global_average_pool> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
