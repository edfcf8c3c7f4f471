// SPDX-License-Identifier: Apache-2.0
// Indices [begin, begin + count) of one axis.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

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

constexpr inferred infer_slice(const op_attributes& a, const shape& x) {
    inferred r = detail::infer_rank(x, 2, 4, a.out);
    const int axis = axis_of(a, x.rank);
    if (r.refused || axis >= x.rank) {
        return r.refused ? r : detail::refuse(rule::input_has_wrong_rank, x.rank, axis + 1);
    }
    if (a.begin < 0 || a.begin + a.out > x[axis]) {
        return detail::refuse(rule::slice_outside_input, a.begin + a.out, x[axis],
                              static_cast<int>(dimension_name(axis, x.rank)));
    }
    r.output.extent[axis] = a.out;
    return r;
}

inline constexpr op_record slice_record{
    .name = "slice",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_slice(a, *x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_slice(a, *x); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::slice{&op::slice_record};

namespace detail {

constexpr op_attributes make_slice(index_t begin, index_t count) {
    op_attributes a;
    a.kind = op_kind::slice;
    a.begin = begin;
    a.out = count;
    return a;
}

} // namespace detail

/// slice<begin, count, axis<>>: indices [Begin, Begin + Count) of the channels, or of another dimension.
template <index_t Begin, index_t Count, class... Options>
struct slice {
    static constexpr op_attributes attributes = detail::with<Options...>(detail::make_slice(Begin, Count));
};

} // namespace tessera
