// SPDX-License-Identifier: Apache-2.0
// Look-ups in tables: of tokens, and of positions.
#pragma once

#include "tessera/op/attributes.hpp"
#include "tessera/op/description.hpp"

namespace tessera::op {

/// tokens[N] or [N,T] (int32), table[V,C] -> y[N,C] or [N,T,C]: the sum over all v of table[v] where v is the token. So described, a
/// split of the vocabulary is a split of a sum: every shard looks up what it has, and leaves a partial result; and the gradient of the
/// table is summed over samples and positions.
constexpr description describe_embedding(const op_attributes& a, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = x.rank > 1 ? w.add_loop(loop_name::position, x[1]) : -1;
    const int c = w.add_loop(loop_name::channel, a.out);
    const int v = w.add_loop(loop_name::reduction, a.vocabulary);
    const auto row = [&](int which) {
        w.index(which, x[0], n);
        if (t >= 0) {
            w.index(which, x[1], t);
        }
    };
    const int tokens = w.add_operand(operand_kind::input, 0, element::i32);
    row(tokens);
    w.d.operands[tokens].differentiable = false;
    const int table = w.add_operand(operand_kind::parameter, 0);
    w.index(table, a.vocabulary, v);
    w.index(table, a.out, c);
    w.d.operands[table].gathered = true;
    const int output = w.add_operand(operand_kind::output, 0);
    row(output);
    w.index(output, a.out, c);
    w.d.operands[table].gradient_reads = bit(tokens);
    w.add_nest(w.all_loops(), bit(tokens) | bit(table), output, reducer::sum, 0);
    return w.d;
}

/// x[N,T,C], table[T,C] -> x + table, the same for every sample.
constexpr description describe_position_embedding(const op_attributes&, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = w.add_loop(loop_name::position, x[1]);
    const int c = w.add_loop(loop_name::channel, x[2]);
    const int input = w.add_operand(operand_kind::input, 0);
    const int table = w.add_operand(operand_kind::parameter, 0);
    const int output = w.add_operand(operand_kind::output, 0);
    const int tensors[] = {input, output};
    for (const int which : tensors) {
        w.index(which, x[0], n);
        w.index(which, x[1], t);
        w.index(which, x[2], c);
    }
    w.index(table, x[1], t);
    w.index(table, x[2], c);
    w.d.operands[table].additive = true;
    w.add_nest(w.all_loops(), bit(input) | bit(table), output, reducer::none, 1);
    return w.d;
}

} // namespace tessera::op
