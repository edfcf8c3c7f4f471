// SPDX-License-Identifier: Apache-2.0
// Bodies of repeats.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/repeats.hpp"

namespace tessera::detail {

TESSERA_INLINE bool repeats_after(const graph_view& g, int op, int shift) {
    const op_node& x = g.ops[op];
    const op_node& y = g.ops[op + shift];
    if (!(x.attributes == y.attributes) || x.inputs.size() != y.inputs.size() ||
        !(g.output_of(op).extents == g.output_of(op + shift).extents)) {
        return false;
    }
    for (int k = 0; k < x.inputs.size(); ++k) {
        const int from = g.tensors[x.inputs[k]].producer;
        const bool same = x.inputs[k] == y.inputs[k];
        if (!same && (from < 0 || g.tensors[y.inputs[k]].producer != from + shift)) {
            return false;
        }
    }
    for (int k = 0; k < x.parameters.size(); ++k) {
        if (x.parameters[k] == y.parameters[k]) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE repeated_blocks find_repeats(const graph_view& g) {
    repeated_blocks best{0, g.op_count, 1};
    int covered = 0;
    for (int shift = 1; 2 * shift <= g.op_count; ++shift) {
        for (int op = 0; op + shift < g.op_count;) {
            int run = 0;
            while (op + run + shift < g.op_count && detail::repeats_after(g, op + run, shift)) {
                ++run;
            }
            const int count = run / shift + 1;
            if (count > 1 && count * shift > covered) {
                covered = count * shift;
                best = {op, shift, count};
            }
            op += run + 1;
        }
    }
    return best;
}

TESSERA_INLINE shortened_graph with_blocks(const graph_view& g, const repeated_blocks& r, int blocks, index_t batch) {
    if (blocks < 1 || blocks > r.count) {
        throw error("tessera: of " + std::to_string(r.count) + " blocks " + std::to_string(blocks) +
                    " were asked for; ask for at least 1 and no more than there are");
    }
    shortened_graph s;
    const int last = r.end();
    const int left_out = (r.count - blocks) * r.length;
    const int kept_until = last - r.length - left_out; // the last block's operators come behind these
    const auto kept = [&](int op) { return op < kept_until + r.length || op >= last; };
    std::vector<int> tensor(to_size(g.tensor_count), -1);
    std::vector<int> parameter(to_size(g.parameter_count), -1);
    const index_t whole = g.tensors[0].extents[0];
    for (int t = 0; t < g.tensor_count; ++t) {
        const int from = g.tensors[t].producer;
        if (g.tensors[t].extents.rank == 0 || g.tensors[t].extents[0] != whole) {
            throw error("tessera: the tensor " + std::string(g.tensors[t].name) +
                        " does not begin with the batch; another batch size cannot be given to it");
        }
        if (from < 0 || kept(from)) {
            tensor[to_size(t)] = static_cast<int>(s.network.tensors.size());
            s.network.tensors.push_back(g.tensors[t]);
            tensor_node& node = s.network.tensors.back();
            node.extents.extent[0] = batch;
            node.producer = from < 0 ? -1 : from - (from >= last ? left_out : 0);
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        if (!kept(op)) {
            continue;
        }
        op_node node = g.ops[op];
        for (int& t : node.inputs) {
            const int from = g.tensors[t].producer;
            if (op >= last && from >= r.first && from < last) {
                if (from < last - r.length) {
                    throw error("tessera: " + std::string(node.name) +
                                " reads from the middle of repeated blocks; they cannot be left out");
                }
                t = g.ops[from - left_out].output;
            }
            t = tensor[to_size(t)];
        }
        for (int& p : node.parameters) {
            int& own = parameter[to_size(p)];
            if (own < 0) {
                own = static_cast<int>(s.network.parameters.size());
                s.network.parameters.push_back(g.parameters[p]);
            }
            p = own;
        }
        node.output = tensor[to_size(node.output)];
        s.network.ops.push_back(node);
        s.op_of.push_back(op);
    }
    return s;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
