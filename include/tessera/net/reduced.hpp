// SPDX-License-Identifier: Apache-2.0
// The part of a network that some of its tensors need: what a prediction runs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

namespace tessera {

/// A network without what some tensors do not need: losses and their labels, as a rule. Its parameters are all those of
/// the whole one, under their numbers.
struct reduced_network {
    graph network;
    std::vector<int> ops;     ///< of the whole network, in their order
    std::vector<int> tensors; ///< by number in the whole network: its number here, or -1
};

/// The part of `g` that makes the tensors `wanted`. (A template so that it is compiled where it is used.)
template <class Graph>
reduced_network reduced_to(const Graph& g, const std::vector<int>& wanted) {
    std::vector<char> needed(to_size(g.tensor_count), 0);
    for (const int t : wanted) {
        needed[to_size(t)] = 1;
    }
    for (int op = g.op_count; op-- > 0;) {
        for (const int t : g.ops[op].inputs) {
            needed[to_size(t)] = needed[to_size(t)] != 0 || needed[to_size(g.ops[op].output)] != 0 ? 1 : 0;
        }
    }
    reduced_network r;
    r.network.parameters.assign(g.parameters, g.parameters + g.parameter_count);
    r.tensors.assign(to_size(g.tensor_count), -1);
    for (int t = 0; t < g.tensor_count; ++t) {
        if (needed[to_size(t)] != 0) {
            r.tensors[to_size(t)] = static_cast<int>(r.network.tensors.size());
            r.network.tensors.push_back(g.tensors[t]);
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        if (needed[to_size(g.ops[op].output)] == 0) {
            continue;
        }
        op_node x = g.ops[op];
        for (int k = 0; k < x.inputs.size(); ++k) {
            x.inputs[k] = r.tensors[to_size(x.inputs[k])];
        }
        x.output = r.tensors[to_size(x.output)];
        r.network.tensors[to_size(x.output)].producer = static_cast<int>(r.ops.size());
        r.network.ops.push_back(x);
        r.ops.push_back(op);
    }
    return r;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
