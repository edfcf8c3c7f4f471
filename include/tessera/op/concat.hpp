// SPDX-License-Identifier: Apache-2.0
// Concatenation, slices and flattening: operators that only rename indices.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// The dimension along which a concatenation or a slice works.
constexpr int axis_of(const op_attributes& a, int rank) { return a.axis < 0 ? channel_dimension(rank) : a.axis; }

/// x_i[N,C_i,...] -> y[N,sum of C_i,...], or along another axis. Input i is read at index - offset_i, which lies outside it for other
/// inputs' indices.
constexpr description describe_concat(const op_attributes& a, const shape* inputs, int count) {
    const shape& x = inputs[0];
    const int axis = axis_of(a, x.rank);
    index_t total = 0;
    for (int k = 0; k < count; ++k) {
        total += inputs[k][axis];
    }
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), d == axis ? total : x[d]);
    }
    std::uint32_t reads = 0;
    index_t offset = 0;
    for (int k = 0; k < count; ++k) {
        const int input = w.add_operand(operand_kind::input, k);
        for (int d = 0; d < x.rank; ++d) {
            w.index(input, inputs[k][d], w.at(d, 1, d == axis ? -offset : 0));
        }
        offset += inputs[k][axis];
        reads |= bit(input);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, d == axis ? total : x[d], d);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), reads, output, reducer::none, 0);
    return w.d;
}

/// x -> its indices [begin, begin + out) along one axis.
constexpr description describe_slice(const op_attributes& a, const shape& x) {
    const int axis = axis_of(a, x.rank);
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), d == axis ? a.out : x[d]);
    }
    const int input = w.add_operand(operand_kind::input, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(input, x[d], w.at(d, 1, d == axis ? a.begin : 0));
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, d == axis ? a.out : x[d], d);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, reducer::none, 0);
    return w.d;
}

/// x[N,C,H,W] -> y[N,C*H*W]; the output's second index is c*H*W + h*W + w, so that only the major loop keeps shards boxes.
constexpr description describe_flatten(const op_attributes&, const shape& x) {
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
    affine flat;
    index_t coefficient = 1;
    for (int d = x.rank - 1; d >= 1; --d) {
        flat.terms.push_back({d, coefficient});
        coefficient *= x[d];
    }
    w.index(output, coefficient, flat);
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, reducer::none, 0);
    return w.d;
}

} // namespace tessera::op
