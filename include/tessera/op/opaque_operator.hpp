// SPDX-License-Identifier: Apache-2.0
// An operator of which nothing is known but what it takes, makes and costs: it is planned and simulated, on one device,
// and nothing computes it. Networks that come from elsewhere keep so what Tessera has no operator for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/record.hpp"

namespace tessera::op {

struct opaque_attributes {
    index_t extent[max_rank - 1] = {}; ///< of the output without its samples
    index_t rank = 0;                  ///< how many of them there are
    index_t flops = 0;                 ///< forward, for each sample
    index_t kept = 0;       ///< numbers for each sample that forward makes besides its output, and backward reads
    index_t parameters = 0; ///< trained numbers
    index_t integers = 0;   ///< inputs that are integers, as a bit mask: 1 is the first
    static constexpr attribute_field fields[] = {{"extent", max_rank - 1, 0},
                                                 {"rank", 1, 0, max_rank - 1},
                                                 {"flops", 1, 0, index_t{1} << 53},
                                                 {"kept"},
                                                 {"parameters"},
                                                 {"integers", 1, 0, (1 << max_inputs) - 1}};
};

/// Inputs [N,..], up to 8 -> y[N, extent..]. No loop may be split: a split would need to know what is read where. Its
/// floating-point operations are the points of one loop, so that they are exact; backward has as many for each input
/// and for the parameters. Bytes are those of inputs, output, parameters and what is kept.
constexpr description describe_opaque_operator(const opaque_attributes& a, const shape* inputs, int count) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, inputs[0][0], true);
    w.add_loop(loop_name::reduction, a.flops > 0 ? a.flops : 1, true);
    const auto rows = [&](int which, const index_t* extent, int rank) {
        w.index(which, inputs[0][0], n);
        for (int d = 0; d < rank; ++d) {
            w.index(which, extent[d], w.everything());
        }
    };
    std::uint32_t reads = 0;
    for (int k = 0; k < count; ++k) {
        const bool integers = (a.integers >> k) % 2 != 0;
        const int input = w.add_operand(operand_kind::input, k, integers ? element::i32 : element::f32);
        rows(input, inputs[k].extent + 1, inputs[k].rank - 1);
        w.d.operands[input].differentiable = !integers;
        reads |= bit(input);
    }
    if (a.parameters > 0) {
        const int trained = w.add_operand(operand_kind::parameter, 0);
        w.index(trained, a.parameters, w.everything());
        reads |= bit(trained);
    }
    std::uint32_t kept = 0;
    if (a.kept > 0) {
        const int o = w.add_operand(operand_kind::intermediate, 0);
        rows(o, &a.kept, 1);
        w.d.operands[o].differentiable = false;
        kept = bit(o);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    rows(output, a.extent, static_cast<int>(a.rank));
    for (int o = 0; o < w.d.operands.size(); ++o) {
        w.d.operands[o].gradient_reads = has(reads, o) ? reads | kept : 0;
    }
    const int flops = a.flops > 0 ? 1 : 0;
    if (kept == 0) {
        w.add_nest(w.all_loops(), reads, output, reducer::sum, flops);
    } else {
        w.add_nest(w.all_loops(), reads, output - 1, reducer::sum, flops);
        w.add_nest(bit(n), kept, output, reducer::none, 0);
    }
    return w.d;
}

constexpr inferred infer_opaque_operator(const opaque_attributes& a, const shape* inputs, int count) {
    if (count < 1 || count > max_inputs) {
        return detail::refuse(rule::wrong_number_of_inputs, count, count < 1 ? 1 : max_inputs);
    }
    inferred r;
    r.output.rank = static_cast<int>(a.rank) + 1;
    if (a.rank < 0 || a.rank >= max_rank) {
        return detail::refuse(rule::input_has_wrong_rank, a.rank + 1, max_rank);
    }
    r.output.extent[0] = inputs[0][0];
    for (int d = 1; d < r.output.rank; ++d) {
        r.output.extent[d] = a.extent[d - 1];
        if (a.extent[d - 1] < 1) {
            return detail::refuse(rule::extent_is_zero, a.extent[d - 1], 1);
        }
    }
    for (int k = 1; k < count; ++k) {
        if (inputs[k].rank < 1 || inputs[k][0] != inputs[0][0]) {
            return detail::refuse(rule::shapes_differ, inputs[k][0], inputs[0][0], static_cast<int>(loop_name::sample));
        }
    }
    return r;
}

inline constexpr op_record opaque_record{
    .name = "opaque",
    .infer = [](const op_attributes& a, const shape* x,
                int count) { return infer_opaque_operator(a.as<opaque_attributes>(), x, count); },
    .describe = [](const op_attributes& a, const shape* x,
                   int count) { return describe_opaque_operator(a.as<opaque_attributes>(), x, count); },
    .inputs = -1,
    .own = list_of<opaque_attributes>(),
    .only_planned = "it is opaque: it has shapes and costs, with which it is planned, and no code that computes it",
};

} // namespace tessera::op

#include "tessera/base/end_header.inl"
