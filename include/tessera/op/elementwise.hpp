// SPDX-License-Identifier: Apache-2.0
// Operators that work element by element: activations, add, multiply, dropout. All operands have the shape of the first.
#pragma once

#include "tessera/op/attributes.hpp"
#include "tessera/op/description.hpp"

namespace tessera::op {

/// Loop names of a tensor's dimensions: [N,C], [N,T,C] (sequences) and [N,C,H,W] (images).
constexpr loop_name dimension_name(int d, int rank) {
    constexpr loop_name sequence[] = {loop_name::sample, loop_name::position, loop_name::channel};
    constexpr loop_name image[] = {loop_name::sample, loop_name::channel, loop_name::height, loop_name::width};
    return rank == 3 ? sequence[d] : image[d];
}

/// The dimension of the channels (or features, or classes): the last one of sequences, else the second.
constexpr int channel_dimension(int rank) { return rank == 3 ? 2 : 1; }

constexpr description describe_elementwise(const op_attributes& a, const shape& x, int inputs) {
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    std::uint32_t reads = 0;
    for (int k = 0; k < inputs; ++k) {
        const int input = w.add_operand(operand_kind::input, k);
        for (int d = 0; d < x.rank; ++d) {
            w.index(input, x[d], d);
        }
        reads |= bit(input);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, x[d], d);
    }
    int flops = 1;
    switch (a.kind) {
    case op_kind::relu:
    case op_kind::sigmoid:
    case op_kind::tanh:
        // Their derivatives are functions of the output, which frees the input.
        w.d.operands[0].gradient_reads = bit(output);
        flops = a.kind == op_kind::relu ? 1 : 10;
        break;
    case op_kind::gelu:
        w.d.operands[0].gradient_reads = bit(0);
        flops = 12;
        break;
    case op_kind::multiply:
        w.d.operands[0].gradient_reads = bit(1);
        w.d.operands[1].gradient_reads = bit(0);
        break;
    case op_kind::add:
    case op_kind::dropout:
    case op_kind::channel_dropout:
        w.d.linear = true;
        break;
    default:
        break;
    }
    w.add_nest(w.all_loops(), reads, output, reducer::none, flops);
    return w.d;
}

} // namespace tessera::op
