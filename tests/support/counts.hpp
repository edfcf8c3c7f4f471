// SPDX-License-Identifier: Apache-2.0
// What papers and libraries state of a network: its trained parameters, and its multiply-adds.
#pragma once

#include "tessera/net/describe.hpp"

namespace test_support {

namespace ts = tessera;

constexpr ts::index_t trained_parameters(const ts::graph_view& g) {
    ts::index_t count = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        count += g.parameters[p].trained ? g.parameters[p].extents.volume() : 0;
    }
    return count;
}

/// Of convolutions, linear layers (of experts too) and products of activations, forward.
constexpr ts::index_t multiply_adds(const ts::graph_view& g) {
    ts::index_t flops = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const ts::op_kind kind = g.ops[op].attributes.kind;
        if (kind == ts::op_kind::attention) { // scores and mixtures of the keys that are seen
            const ts::description d = g.describe(op);
            const ts::loop_ranges all(d);
            flops += ts::flops_of_nest(d, 0, all.range) + ts::flops_of_nest(d, 2, all.range);
            continue;
        }
        if (kind != ts::op_kind::conv2d && kind != ts::op_kind::transposed_conv2d && kind != ts::op_kind::linear &&
            kind != ts::op_kind::expert_linear && kind != ts::op_kind::routed_linear && kind != ts::op_kind::matmul) {
            continue;
        }
        flops += ts::forward_flops(g.describe(op));
    }
    return flops / 2;
}

} // namespace test_support
