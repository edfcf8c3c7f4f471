// SPDX-License-Identifier: Apache-2.0
// Operators whose bodies say nothing of their indices but which leading dimensions are free: an element of the output
// may depend on everything at the same place of these (the sample, or the sample and the position). They are split
// along the free dimensions only.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// `free`: how many leading dimensions of all inputs and the output, at least 1. `flops`: for an element of the output.
/// Gradients of all inputs read all inputs.
constexpr description describe_opaque(const shape* inputs, int count, const shape& output, int flops, int free = 1) {
    detail::describer w;
    for (int d = 0; d < output.rank; ++d) {
        w.add_loop(dimension_name(d, output.rank), output[d], d >= free);
    }
    std::uint32_t reads = 0;
    for (int k = 0; k < count; ++k) {
        const int input = w.add_operand(operand_kind::input, k);
        for (int d = 0; d < inputs[k].rank; ++d) {
            w.index(input, inputs[k][d], d < free ? w.at(d) : w.everything());
        }
        reads |= bit(input);
    }
    const int out = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < output.rank; ++d) {
        w.index(out, output[d], d);
    }
    for (int k = 0; k < count; ++k) {
        w.d.operands[k].gradient_reads = reads;
    }
    w.add_nest(w.all_loops(), reads, out, reducer::none, flops);
    return w.d;
}

} // namespace tessera::op

#include "tessera/base/end_header.inl"
