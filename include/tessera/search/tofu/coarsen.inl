// SPDX-License-Identifier: Apache-2.0
// Bodies of coarsen.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/tofu/coarsen.hpp"

namespace tessera::search {

TESSERA_INLINE coarse_groups coarsen(const graph_view& g, const std::vector<description>& descriptions,
                                     const coarsening& how) {
    detail::forest f;
    std::vector<char> elementwise;
    for (int op = 0; op < g.op_count; ++op) {
        f.up.push_back(op);
        elementwise.push_back(works_by_element(descriptions[to_size(op)]) ? 1 : 0);
    }
    for (int op = 0; op < g.op_count && how.elementwise; ++op) {
        for (const int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            if (producer >= 0 && elementwise[to_size(op)] != 0 && elementwise[to_size(producer)] != 0) {
                f.join(op, producer);
            }
        }
    }
    if (how.steps) {
        const auto same_loops = [&](int a, int b) {
            const description& x = descriptions[to_size(a)];
            const description& y = descriptions[to_size(b)];
            bool same = x.loops.size() == y.loops.size() && elementwise[to_size(a)] == elementwise[to_size(b)];
            for (int l = 0; same && l < x.loops.size(); ++l) {
                same = x.loops[l].extent == y.loops[l].extent;
            }
            return same;
        };
        for (const std::vector<int>& kind : group_operators(g).kinds) {
            for (const int op : kind) {
                if (same_loops(kind[0], op)) {
                    f.join(kind[0], op);
                }
            }
        }
    }
    coarse_groups all;
    std::vector<int> number(to_size(g.op_count), -1);
    for (int op = 0; op < g.op_count; ++op) {
        int& group = number[to_size(f.root(op))];
        if (group < 0) {
            group = static_cast<int>(all.ops.size());
            all.ops.emplace_back();
            all.elementwise.push_back(elementwise[to_size(op)]);
        }
        all.group_of.push_back(group);
        all.ops[to_size(group)].push_back(op);
    }
    return all;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
