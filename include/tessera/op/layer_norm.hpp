// SPDX-License-Identifier: Apache-2.0
// Layer normalization (Ba, Kiros and Hinton 2016): x[N,C] or x[N,T,C], gamma[C], beta[C] -> y like x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct layer_norm_attributes {
    double epsilon = 1e-5; ///< added to the variance
    static constexpr attribute_field fields[] = {number_field("epsilon")};
};

/// Nest 0 sums x and x^2 of every row into statistics[2,N] or [2,N,T], in double; a split of the channels leaves
/// partial sums there. Nest 1 normalizes. The reverse of nest 1 leaves the sums of dy*gamma and of dy*gamma*xhat of
/// every row, which are partial again where the channels are split; the reverse of nest 0 uses them.
constexpr description describe_layer_norm(const op_attributes&, const shape& x) {
    detail::describer w;
    const int last = x.rank - 1;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    const int input = w.add_operand(operand_kind::input, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(input, x[d], d);
    }
    const int gamma = w.add_operand(operand_kind::parameter, 0);
    w.index(gamma, x[last], last);
    const int beta = w.add_operand(operand_kind::parameter, 1);
    w.index(beta, x[last], last);
    const int statistics = w.add_operand(operand_kind::intermediate, 0, element::f64);
    w.index(statistics, 2, w.everything());
    for (int d = 0; d < last; ++d) {
        w.index(statistics, x[d], d);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, x[d], d);
    }
    w.d.operands[input].gradient_reads = bit(input) | bit(statistics) | bit(gamma);
    w.d.operands[gamma].gradient_reads = bit(input) | bit(statistics);
    w.d.operands[statistics].gradient_reads = bit(input) | bit(statistics) | bit(gamma);
    w.add_nest(w.all_loops(), bit(input), statistics, reducer::sum, 3);
    w.add_nest(w.all_loops(), bit(input) | bit(statistics) | bit(gamma) | bit(beta), output, reducer::none, 4);
    return w.d;
}

inline constexpr op_record layer_norm_record{
    .name = "layer_norm",
    .infer = [](const op_attributes&, const shape* x, int) { return detail::infer_rank(*x, 2, 3); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_layer_norm(a, *x); },
    .initial = {initial_values::ones, initial_values::zeros},
    .own = list_of<layer_norm_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::layer_norm{&op::layer_norm_record};

/// layer_norm<frozen>: over the channels, [N,C] or [N,T,C].
template <class... Options>
struct layer_norm : detail::layer_with<op_kind::layer_norm, op::layer_norm_attributes, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
