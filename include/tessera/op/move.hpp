// SPDX-License-Identifier: Apache-2.0
// What operators that move elements and compute nothing have in common.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// The loops of an operator whose elements of the output come from one place each: a loop for each dimension of `y`, by
/// its name.
constexpr detail::describer loops_over(const shape& y) {
    detail::describer w;
    for (int d = 0; d < y.rank; ++d) {
        w.add_loop(dimension_name(d, y.rank), y[d]);
    }
    return w;
}

/// The output, and the nest that copies `inputs` (a bit mask) into it; its loops are those of loops_over().
constexpr description moved_into(detail::describer w, const shape& y, std::uint32_t inputs) {
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < y.rank; ++d) {
        w.index(output, y[d], d);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), inputs, output, reducer::none, 0);
    return w.d;
}

/// x[..] -> y[..]: dimension d of the input is read at index_of(d), an affine function of the loops over the output's
/// dimensions.
template <class Index>
constexpr description describe_move(const shape& x, const shape& y, const Index& index_of) {
    detail::describer w = loops_over(y);
    const int input = w.add_operand(operand_kind::input, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(input, x[d], index_of(d));
    }
    return moved_into(w, y, bit(input));
}

/// A tensor of rank 2 to 5 that has dimension `last` too.
constexpr inferred infer_moved(const shape& x, int last) {
    const inferred r = detail::infer_rank(x, 2, max_rank);
    return r.refused || last < x.rank ? r : detail::refuse(rule::input_has_wrong_rank, x.rank, last + 1);
}

constexpr int name_of_dimension(int d, int rank) { return static_cast<int>(dimension_name(d, rank)); }

/// The highest dimension of which a number is said; 0 where there is none.
constexpr int last_said(const index_t (&numbers)[max_rank]) {
    int last = 0;
    for (int d = 0; d < max_rank; ++d) {
        last = numbers[d] != 0 ? d : last;
    }
    return last;
}

} // namespace tessera::op

#include "tessera/base/end_header.inl"
