// SPDX-License-Identifier: Apache-2.0
// Concatenation along the channels, and flattening: operators that only rename indices.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// x_i[N,C_i,...] -> y[N,sum of C_i,...]. Input i is read at channel - offset_i, which lies outside it for other inputs' channels.
constexpr description describe_concat(const op_attributes&, const shape* inputs, int count) {
    index_t channels = 0;
    for (int k = 0; k < count; ++k) {
        channels += inputs[k][1];
    }
    const shape& x = inputs[0];
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d), d == 1 ? channels : x[d]);
    }
    std::uint32_t reads = 0;
    index_t offset = 0;
    for (int k = 0; k < count; ++k) {
        const int input = w.add_operand(operand_kind::input, k);
        for (int d = 0; d < x.rank; ++d) {
            w.index(input, inputs[k][d], w.at(d, 1, d == 1 ? -offset : 0));
        }
        offset += inputs[k][1];
        reads |= bit(input);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, d == 1 ? channels : x[d], d);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), reads, output, reducer::none, 0);
    return w.d;
}

/// x[N,C,H,W] -> y[N,C*H*W]; the output's second index is c*H*W + h*W + w, so that only the major loop keeps shards boxes.
constexpr description describe_flatten(const op_attributes&, const shape& x) {
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d), x[d]);
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
