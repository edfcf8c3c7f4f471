// SPDX-License-Identifier: Apache-2.0
// All dimensions but the samples as one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// x[N,C,H,W] -> y[N,C*H*W]; the output's second index is c*H*W + h*W + w, so that only the major loop keeps shards
/// boxes.
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

constexpr inferred infer_flatten(const shape& x) {
    return x.rank >= 2 && x.rank <= max_rank
               ? inferred{{}, make_shape(x[0], x.volume() / x[0])}
               : detail::refuse(rule::input_has_wrong_rank, x.rank, x.rank < 2 ? 2 : max_rank);
}

inline constexpr op_record flatten_record{
    .name = "flatten",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_flatten(*x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_flatten(a, *x); },
    .facts = {.view = true, .passes_gradient = true},
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::flatten{&op::flatten_record};

/// [N,C,H,W] -> [N,C*H*W], [N,C,D,H,W] -> [N,C*D*H*W].
struct flatten : detail::simple_layer<op_kind::flatten> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
