// SPDX-License-Identifier: Apache-2.0
// Softmax over the last dimension: x[N,K], [N,T,K] or [N,H,T,K] -> y like x.
#pragma once

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct softmax_attributes {
    flag causal = false; ///< columns behind the row's own number count as minus infinity
};

/// Nests: the maximum of every row, the sum of its exponentials, the quotient. A split of the last dimension leaves partial maxima and
/// sums: two reductions of one number per row forward and one backward, where the gradient of the sum stands for the sum of dy*y.
constexpr description describe_softmax(const op_attributes&, const shape& x) {
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    const auto rows = [&](int which) {
        for (int d = 0; d + 1 < x.rank; ++d) {
            w.index(which, x[d], d);
        }
    };
    const int input = w.add_operand(operand_kind::input, 0);
    rows(input);
    w.index(input, x[x.rank - 1], x.rank - 1);
    const int largest = w.add_operand(operand_kind::intermediate, 0);
    rows(largest);
    w.d.operands[largest].differentiable = false;
    const int total = w.add_operand(operand_kind::intermediate, 1);
    rows(total);
    const int output = w.add_operand(operand_kind::output, 0);
    rows(output);
    w.index(output, x[x.rank - 1], x.rank - 1);
    w.d.operands[input].gradient_reads = bit(output) | bit(total);
    w.d.operands[total].gradient_reads = bit(output);
    w.add_nest(w.all_loops(), bit(input), largest, reducer::max, 1);
    w.add_nest(w.all_loops(), bit(input) | bit(largest), total, reducer::sum, 4);
    w.add_nest(w.all_loops(), bit(input) | bit(largest) | bit(total), output, reducer::none, 5);
    return w.d;
}

inline constexpr op_record softmax_record{
    .name = "softmax",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return detail::infer_rank(*x, a.as<softmax_attributes>().causal ? 3 : 2, 4); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_softmax(a, *x); },
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::softmax{&op::softmax_record};

/// softmax<causal>: over the last dimension.
template <class... Options>
struct softmax : detail::layer_with<op_kind::softmax, op::softmax_attributes, Options...> {};

} // namespace tessera
