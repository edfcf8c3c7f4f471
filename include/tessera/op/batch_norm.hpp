// SPDX-License-Identifier: Apache-2.0
// Batch normalization over the global batch: x[N,C,H,W], x[N,C,D,H,W] or x[N,C], gamma[C], beta[C] -> y like x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct batch_norm_attributes {
    double epsilon = 1e-5; ///< added to the variance
    double momentum = 0.1; ///< weight of the newest statistics in the running ones
    static constexpr attribute_field fields[] = {number_field("epsilon"), number_field("momentum")};
};

/// Nest 0 sums x and x^2 per channel into statistics[2,C], in double so that E[x^2] - E[x]^2 loses nothing that
/// matters; a split of samples, planes, rows or columns leaves partial sums there. Nest 1 normalizes. Backward mirrors
/// it: the reverse of nest 1 leaves the gradient of the statistics, sum dy and sum dy*xhat, as partial sums again, and
/// the reverse of nest 0 uses them.
constexpr description describe_batch_norm(const op_attributes&, const shape& x) {
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    const int input = w.add_operand(operand_kind::input, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(input, x[d], d);
    }
    const int gamma = w.add_operand(operand_kind::parameter, 0);
    w.index(gamma, x[1], 1);
    const int beta = w.add_operand(operand_kind::parameter, 1);
    w.index(beta, x[1], 1);
    const int running = w.add_operand(operand_kind::state, 2);
    w.index(running, 2, w.everything());
    w.index(running, x[1], 1);
    w.d.operands[running].differentiable = false;
    const int statistics = w.add_operand(operand_kind::intermediate, 0, element::f64);
    w.index(statistics, 2, w.everything());
    w.index(statistics, x[1], 1);
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, x[d], d);
    }
    w.d.operands[input].gradient_reads = bit(input) | bit(statistics) | bit(gamma);
    w.d.operands[gamma].gradient_reads = bit(input) | bit(statistics);
    w.d.operands[statistics].gradient_reads = bit(input) | bit(statistics);
    w.add_nest(w.all_loops(), bit(input), statistics, reducer::sum, 3);
    w.add_nest(w.all_loops(), bit(input) | bit(statistics) | bit(gamma) | bit(beta), output, reducer::none, 4);
    return w.d;
}

constexpr inferred infer_batch_norm(const shape& x) {
    return x.rank == 3 ? detail::refuse(rule::input_has_wrong_rank, 3, 4) : detail::infer_rank(x, 2, max_rank);
}

inline constexpr op_record batch_norm_record{
    .name = "batch_norm",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_batch_norm(*x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_batch_norm(a, *x); },
    .initial = {initial_values::ones, initial_values::zeros, initial_values::moments},
    .momentum = [](const op_attributes& a) { return a.as<batch_norm_attributes>().momentum; },
    .own = list_of<batch_norm_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::batch_norm{&op::batch_norm_record};

/// batch_norm<frozen>: statistics over the global batch in training, running ones in evaluation.
template <class... Options>
struct batch_norm : detail::layer_with<op_kind::batch_norm, op::batch_norm_attributes, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
