// SPDX-License-Identifier: Apache-2.0
// Fully connected layer: x[N,I] or x[N,T,I], w[O,I], b[O] -> y[N,O] or y[N,T,O].
#pragma once

#include "tessera/op/attributes.hpp"
#include "tessera/op/description.hpp"

namespace tessera::op {

constexpr description describe_linear(const op_attributes& a, const shape& x) {
    detail::describer w;
    const index_t features = x[x.rank - 1];
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = x.rank == 3 ? w.add_loop(loop_name::position, x[1]) : -1;
    const int o = w.add_loop(loop_name::channel, a.out);
    const int i = w.add_loop(loop_name::reduction, features);
    const auto row = [&](int which) {
        w.index(which, x[0], n);
        if (t >= 0) {
            w.index(which, x[1], t);
        }
    };
    const int input = w.add_operand(operand_kind::input, 0);
    row(input);
    w.index(input, features, i);
    const int weight = w.add_operand(operand_kind::parameter, 0);
    w.index(weight, a.out, o);
    w.index(weight, features, i);
    const std::uint32_t bias = w.add_bias(a.bias, a.out, w.at(o));
    const int output = w.add_operand(operand_kind::output, 0);
    row(output);
    w.index(output, a.out, o);
    w.add_product(input, weight, output, bias);
    return w.d;
}

} // namespace tessera::op
