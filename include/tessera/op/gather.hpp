// SPDX-License-Identifier: Apache-2.0
// Rows of a sequence taken by index, and rows put together by index.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

/// What becomes of rows with one index.
struct scatter_attributes {
    enum : index_t { sum, mean, max };
    index_t out = 0;   ///< rows of the result
    index_t how = sum; ///< rows without any are zeros
    static constexpr attribute_field fields[] = {{"out", 1, 1}, {"how", 1, 0, 2}};
};

/// x[N,T,C], index[N,K] (int32) -> y[N,K,C] = x[n, index[n,k], c], as the sum over all t of x[n,t,c] where t is the
/// index. So described, a split of T is a split of a sum: each shard takes what it has, and leaves a partial result.
constexpr description describe_gather(const shape* inputs) {
    const shape& x = inputs[0];
    const index_t rows = inputs[1][1];
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int k = w.add_loop(loop_name::position, rows);
    const int c = w.add_loop(loop_name::channel, x[2]);
    const int t = w.add_loop(loop_name::reduction, x[1]);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], t);
    w.index(input, x[2], c);
    w.d.operands[input].gathered = true;
    const int index = w.add_operand(operand_kind::input, 1, element::i32);
    w.index(index, x[0], n);
    w.index(index, rows, k);
    w.d.operands[index].differentiable = false;
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, rows, k);
    w.index(output, x[2], c);
    w.d.operands[input].gradient_reads = bit(index);
    w.add_nest(w.all_loops(), bit(input) | bit(index), output, reducer::sum, 0);
    return w.d;
}

/// x[N,T,C], index[N,T] (int32) -> y[N,S,C]: the sum over all t of x[n,t,c] where index[n,t] is s, or their mean or
/// maximum, for which T stays whole.
constexpr description describe_scatter(const scatter_attributes& a, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int s = w.add_loop(loop_name::position, a.out);
    const int c = w.add_loop(loop_name::channel, x[2]);
    const int t = w.add_loop(loop_name::reduction, x[1], a.how != scatter_attributes::sum);
    const int input = w.add_operand(operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], t);
    w.index(input, x[2], c);
    const int index = w.add_operand(operand_kind::input, 1, element::i32);
    w.index(index, x[0], n);
    w.index(index, x[1], t);
    w.d.operands[index].differentiable = false;
    const int output = w.add_operand(operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, a.out, s);
    w.index(output, x[2], c);
    w.d.operands[input].gradient_reads = bit(index) | (a.how == scatter_attributes::max ? bit(input) : 0);
    w.add_nest(w.all_loops(), bit(input) | bit(index), output,
               a.how == scatter_attributes::max ? reducer::max : reducer::sum, 0);
    return w.d;
}

/// An index for each sample, and, `alike`, for each of its rows.
constexpr inferred infer_index(const shape* inputs, bool alike) {
    if (inputs[0].rank != 3) {
        return detail::refuse(rule::input_has_wrong_rank, inputs[0].rank, 3);
    }
    const shape& x = inputs[0];
    const shape& index = inputs[1];
    if (index.rank != 2) {
        return detail::refuse(rule::indices_do_not_fit, index.rank, 2);
    }
    for (int d = 0; d < (alike ? 2 : 1); ++d) {
        if (index[d] != x[d]) {
            return detail::refuse(rule::indices_do_not_fit, index[d], x[d],
                                  static_cast<int>(d == 0 ? loop_name::sample : loop_name::position));
        }
    }
    return {{}, make_shape(x[0], index[1], x[2])};
}

constexpr inferred infer_scatter(const scatter_attributes& a, const shape* inputs) {
    inferred r = infer_index(inputs, true);
    if (!r.refused && a.out < 1) {
        return detail::refuse(rule::extent_is_zero, a.out, 1);
    }
    r.output.extent[1] = a.out;
    return r;
}

inline constexpr op_record gather_rows_record{
    .name = "gather_rows",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_index(x, false); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_gather(x); },
    .inputs = 2,
    .index_bound = [](const op_attributes&, const shape* x, int slot) { return slot == 1 ? x[0][1] : 0; },
};
inline constexpr op_record scatter_rows_record{
    .name = "scatter_rows",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_scatter(a.as<scatter_attributes>(), x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_scatter(a.as<scatter_attributes>(), *x); },
    .inputs = 2,
    .index_bound = [](const op_attributes& a, const shape*,
                      int slot) { return slot == 1 ? a.as<scatter_attributes>().out : 0; },
    .own = list_of<scatter_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::gather_rows{&op::gather_rows_record};
inline constexpr op_kind op_kind::scatter_rows{&op::scatter_rows_record};

/// x[N,T,C], index[N,K] -> [N,K,C]: rows of each sample by their numbers, from 0.
struct gather_rows : detail::simple_layer<op_kind::gather_rows> {};
/// scatter_sum<S>: x[N,T,C], index[N,T] -> [N,S,C]: in row s the sum of the rows whose index is s.
template <index_t Rows>
struct scatter_sum {
    static constexpr op_attributes attributes = attributes_of(op_kind::scatter_rows, op::scatter_attributes{Rows});
};
/// Their mean; a row of zeros where there are none.
template <index_t Rows>
struct scatter_mean {
    static constexpr op_attributes attributes =
        attributes_of(op_kind::scatter_rows, op::scatter_attributes{Rows, op::scatter_attributes::mean});
};
/// Their maximum, channel by channel; a row of zeros where there are none. The gradient goes to the first of equal
/// ones.
template <index_t Rows>
struct scatter_max {
    static constexpr op_attributes attributes =
        attributes_of(op_kind::scatter_rows, op::scatter_attributes{Rows, op::scatter_attributes::max});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
