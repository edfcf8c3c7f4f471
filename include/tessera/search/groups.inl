// SPDX-License-Identifier: Apache-2.0
// Bodies of groups.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/groups.hpp"

namespace tessera::search::detail {

TESSERA_INLINE int forest::root(int i) {
    while (up[to_size(i)] != i) {
        i = up[to_size(i)] = up[to_size(up[to_size(i)])];
    }
    return i;
}

TESSERA_INLINE void forest::join(int a, int b) {
    a = root(a);
    b = root(b);
    up[to_size(a < b ? b : a)] = a < b ? a : b;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE operator_groups group_operators(const graph_view& g) {
    detail::forest f;
    for (int op = 0; op < g.op_count; ++op) {
        f.up.push_back(op);
    }
    std::vector<int> user(to_size(g.parameter_count), -1);
    for (int op = 0; op < g.op_count; ++op) {
        const op_node& node = g.ops[op];
        if (detail::starts_block(g, op)) {
            for (int p : node.parameters) {
                if (user[to_size(p)] >= 0) {
                    f.join(op, user[to_size(p)]);
                }
                user[to_size(p)] = op;
            }
            continue;
        }
        int latest = -1;
        int direct = -1;
        for (int t : node.inputs) {
            const int producer = g.tensors[t].producer;
            latest = std::max(latest, producer);
            if (producer >= 0 && detail::starts_block(g, producer)) {
                if (direct >= 0) {
                    f.join(producer, direct);
                }
                direct = producer;
            }
        }
        if (latest >= 0) {
            f.join(op, latest);
        }
    }
    operator_groups groups;
    groups.kind_of.resize(to_size(g.op_count));
    groups.block_of.resize(to_size(g.op_count));
    std::vector<int> number(to_size(g.op_count), -1);
    std::vector<std::vector<int>> kinds_of_block;
    for (int op = 0; op < g.op_count; ++op) {
        int& block = number[to_size(f.root(op))];
        if (block < 0) {
            block = static_cast<int>(groups.blocks.size());
            groups.blocks.emplace_back();
            kinds_of_block.emplace_back();
        }
        groups.block_of[to_size(op)] = block;
        groups.blocks[to_size(block)].push_back(op);
        int kind = -1;
        for (int k : kinds_of_block[to_size(block)]) {
            const op_node& first = g.ops[groups.kinds[to_size(k)][0]];
            const op_node& own = g.ops[op];
            if (first.key == own.key && detail::alike(first.attributes, own.attributes) &&
                g.tensors[first.output].extents == g.tensors[own.output].extents &&
                g.tensors[first.inputs[0]].extents == g.tensors[own.inputs[0]].extents &&
                first.inputs.size() == own.inputs.size()) {
                kind = k;
            }
        }
        if (kind < 0) {
            kind = static_cast<int>(groups.kinds.size());
            groups.kinds.emplace_back();
            kinds_of_block[to_size(block)].push_back(kind);
        }
        groups.kind_of[to_size(op)] = kind;
        groups.kinds[to_size(kind)].push_back(op);
    }
    return groups;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
