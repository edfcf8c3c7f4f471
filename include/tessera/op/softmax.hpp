// SPDX-License-Identifier: Apache-2.0
// Softmax over the last dimension: x[N,K], [N,T,K] or [N,H,T,K] -> y like x; of padded sequences with lengths[N]
// (int32) beside it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct softmax_attributes {
    flag causal = false; ///< columns behind the row's own number count as minus infinity
    static constexpr attribute_field fields[] = {flag_field("causal")};
};

/// Nests: the maximum of every row, the sum of its exponentials, the quotient. A split of the last dimension leaves
/// partial maxima and sums: two reductions of one number per row forward and one backward, where the gradient of the
/// sum stands for the sum of dy*y. Of padded sequences every nest reads how many columns the sample has; the gradients
/// need no lengths, y being 0 behind them.
constexpr description describe_softmax(const shape& x, bool padded) {
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
    std::uint32_t seen = bit(input);
    if (padded) {
        const int lengths = w.add_operand(operand_kind::input, 1, element::i32);
        w.index(lengths, x[0], 0);
        w.d.operands[lengths].differentiable = false;
        seen |= bit(lengths);
    }
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
    w.add_nest(w.all_loops(), seen, largest, reducer::max, 1);
    w.add_nest(w.all_loops(), seen | bit(largest), total, reducer::sum, 4);
    w.add_nest(w.all_loops(), seen | bit(largest) | bit(total), output, reducer::none, 5);
    return w.d;
}

constexpr inferred infer_softmax(const softmax_attributes& a, const shape& x) {
    return detail::infer_rank(x, a.causal ? 3 : 2, 4);
}

inline constexpr op_record softmax_record{
    .name = "softmax",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_softmax(a.as<softmax_attributes>(), *x); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_softmax(*x, false); },
    .own = list_of<softmax_attributes>(),
    .makes_probabilities = true,
};

constexpr inferred infer_padded_softmax(const softmax_attributes& a, const shape& x, const shape& lengths) {
    const inferred r = infer_softmax(a, x);
    if (r.refused) {
        return r;
    }
    if (lengths.rank != 1) {
        return detail::refuse(rule::lengths_do_not_fit, lengths.rank, 1);
    }
    return lengths[0] == x[0] ? r : detail::refuse(rule::lengths_do_not_fit, lengths[0], x[0]);
}

inline constexpr op_record padded_softmax_record{
    .name = "padded_softmax",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_padded_softmax(a.as<softmax_attributes>(), x[0], x[1]); },
    .describe = [](const op_attributes&, const shape* x, int) { return describe_softmax(*x, true); },
    .inputs = 2,
    .index_bound = [](const op_attributes&, const shape* x,
                      int slot) { return slot == 1 ? x[0][x[0].rank - 1] + 1 : index_t{0}; },
    .own = list_of<softmax_attributes>(),
    .makes_probabilities = true,
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::softmax{&op::softmax_record};
inline constexpr op_kind op_kind::padded_softmax{&op::padded_softmax_record};

/// softmax<causal>: over the last dimension.
template <class... Options>
struct softmax : detail::layer_with<op_kind::softmax, op::softmax_attributes, Options...> {};
/// padded_softmax<causal>: of rows x and the lengths [N] of their samples, in columns: what is behind a sample's length
/// counts as minus infinity, and its weights are 0. A sample of length 0 has zeros for weights. In networks:
/// with_lengths<padded_softmax<>>, see part/padded.hpp.
template <class... Options>
struct padded_softmax : detail::layer_with<op_kind::padded_softmax, op::softmax_attributes, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
