// SPDX-License-Identifier: Apache-2.0
// Bodies of repeats.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/repeats.hpp"

namespace tessera {

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
