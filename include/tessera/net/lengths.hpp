// SPDX-License-Identifier: Apache-2.0
// Networks whose inputs have any length: what follows from one, and whether there is such a network.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

namespace tessera {

/// The longest length of the inputs that may be shorter; 0 where a network has none.
constexpr index_t longest_of(const graph_view& g) {
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].any_length) {
            return g.tensors[t].extents[1];
        }
    }
    return 0;
}

/// Gives the inputs of any length another one, and all tensors the extents that follow. Says which operator breaks a
/// rule at this length: its inputs then do not fit it, or its parameters would have other extents.
constexpr problem set_length(tensor_node* tensors, const graph_view& g, index_t length) {
    for (int t = 0; t < g.tensor_count; ++t) {
        if (tensors[t].any_length) {
            tensors[t].extents.extent[1] = length;
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        const op_node& o = g.ops[op];
        shape inputs[max_inputs];
        for (int k = 0; k < o.inputs.size(); ++k) {
            inputs[k] = tensors[o.inputs[k]].extents;
        }
        if (g.is_loss(op) && o.inputs.size() == 2 && tensors[o.inputs[1]].producer < 0) {
            inputs[1] = tensors[o.inputs[1]].extents = labels_of(o.attributes, inputs[0]).extents;
        }
        inferred r = infer(o.attributes, inputs, o.inputs.size());
        if (r.refused) {
            r.refused.op = op;
            return r.refused;
        }
        for (const operand& x : describe(o.attributes, inputs, o.inputs.size()).operands) {
            const bool kept = x.kind == operand_kind::parameter || x.kind == operand_kind::state;
            const int d = kept && x.slot < o.parameters.size()
                              ? detail::first_difference(x.extents, g.parameters[o.parameters[x.slot]].extents)
                              : -1;
            if (d >= 0) {
                return {rule::length_changes_parameters, op, -1, x.extents[d],
                        g.parameters[o.parameters[x.slot]].extents[d]};
            }
        }
        tensors[o.output].extents = r.output;
    }
    return {};
}

/// The first rule that a network of any length breaks at half of its longest, or that its inputs break among each
/// other.
constexpr problem problem_of_lengths(const graph_view& g) {
    const index_t longest = longest_of(g);
    if (longest < 2) {
        return {};
    }
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].any_length && g.tensors[t].extents[1] != longest) {
            return {rule::lengths_differ, -1, -1, g.tensors[t].extents[1], longest};
        }
    }
    tensor_node* const tensors = new tensor_node[to_size(g.tensor_count)];
    for (int t = 0; t < g.tensor_count; ++t) {
        tensors[t] = g.tensors[t];
    }
    const problem p = set_length(tensors, g, longest / 2);
    delete[] tensors;
    return p;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
