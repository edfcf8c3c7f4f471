// SPDX-License-Identifier: Apache-2.0
// Which operators the CUDA backend has calls for.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/net/graph.hpp"

#include <string>

namespace tessera::cuda {

/// True where a plan's tasks of the operator can be composed: not yet those of sequences [N,T,C], nor of their own kinds.
constexpr bool has_calls_for(const op_attributes& a, const description& d) {
    switch (a.kind) {
    case op_kind::layer_norm:
    case op_kind::softmax:
    case op_kind::matmul:
    case op_kind::embedding:
    case op_kind::position_embedding:
    case op_kind::slice:
        return false;
    case op_kind::flatten: // plans rename it away
        return true;
    default:
        return a.axis < 0 && d.operands[0].extents.rank != 3;
    }
}

constexpr bool has_calls_for(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        if (!has_calls_for(g.ops[op].attributes, g.describe(op))) {
            return false;
        }
    }
    return true;
}

/// Throws tessera::error for an operator without calls.
inline void require_calls_for(const op_node& op, const description& d) {
    if (!has_calls_for(op.attributes, d)) {
        throw error("tessera: the CUDA backend cannot run " + std::string(op.name) + ", a " +
                    to_text(op.attributes.kind) + (d.operands[0].extents.rank == 3 ? " of sequences" : "") +
                    ", yet; run the network on the host backend");
    }
}

} // namespace tessera::cuda
