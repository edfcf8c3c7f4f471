// SPDX-License-Identifier: Apache-2.0
// Bodies of touched_fragments.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/touched_fragments.hpp"

namespace tessera::simulation {

TESSERA_INLINE void touch_forward(const lowered_fragments& x, int op, std::vector<char>& marks) {
    if (marks[to_size(op)] != 0) {
        return;
    }
    marks[to_size(op)] = 1;
    if (x.in.g.facts(op).view) {
        for (int c : x.network.consumers[to_size(x.in.g.ops[op].output)]) {
            touch_forward(x, c, marks);
        }
    }
}

TESSERA_INLINE void touch_backward(const lowered_fragments& x, int op, std::vector<char>& marks) {
    if (marks[to_size(op)] != 0) {
        return;
    }
    marks[to_size(op)] = 1;
    for (int t : x.in.g.ops[op].inputs) {
        if (x.in.g.facts(op).passes_gradient && x.in.g.tensors[t].producer >= 0) {
            touch_backward(x, x.in.g.tensors[t].producer, marks);
        }
    }
}

TESSERA_INLINE touched_fragments touched_by(const lowered_fragments& x, const std::vector<change>& changes) {
    const graph_view& g = x.in.g;
    std::vector<char> forward(to_size(g.op_count), 0);
    std::vector<char> backward(to_size(g.op_count), 0);
    touched_fragments all;
    all.ops.assign(to_size(g.op_count), 0);
    all.inputs.assign(to_size(g.tensor_count), 0);
    all.parameters.assign(to_size(g.parameter_count), 0);
    for (const change& c : changes) {
        all.ops[to_size(c.op)] = 1;
        touch_forward(x, c.op, forward);
        for (int reader : x.network.consumers[to_size(g.ops[c.op].output)]) {
            touch_forward(x, reader, forward);
        }
        for (int t : g.ops[c.op].inputs) {
            all.inputs[to_size(t)] = 1;
            for (int reader : x.network.consumers[to_size(t)]) {
                touch_forward(x, reader, forward);
            }
            if (g.tensors[t].producer >= 0) {
                touch_backward(x, g.tensors[t].producer, backward);
            }
        }
        for (int p : g.ops[c.op].parameters) {
            all.parameters[to_size(p)] = 1;
            for (int u : x.network.users[to_size(p)]) {
                touch_backward(x, u, backward);
            }
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        if (forward[to_size(op)] != 0) {
            touch_backward(x, op, backward);
        }
    }
    for (int f = 0; f < x.count(); ++f) {
        all.has.push_back((x.is_forward(f) ? forward : backward)[to_size(x.operator_of(f))]);
        if (all.contains(f)) {
            all.list.push_back(f);
        }
    }
    return all;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
