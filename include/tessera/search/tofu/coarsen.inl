// SPDX-License-Identifier: Apache-2.0
// Bodies of coarsen.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/tofu/coarsen.hpp"

namespace tessera::search {

TESSERA_INLINE coarse_groups coarsen(const graph_view& g, const std::vector<description>& descriptions,
                                     const coarsening& how) {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    detail::forest f;
    std::vector<char> elementwise;
    for (int op = 0; op < g.op_count; ++op) {
        f.up.push_back(op);
        elementwise.push_back(works_by_element(descriptions[at(op)]) ? 1 : 0);
    }
    for (int op = 0; op < g.op_count && how.elementwise; ++op) {
        for (const int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            if (producer >= 0 && elementwise[at(op)] != 0 && elementwise[at(producer)] != 0) {
                f.join(op, producer);
            }
        }
    }
    if (how.steps) {
        const auto same_loops = [&](int a, int b) {
            const description& x = descriptions[at(a)];
            const description& y = descriptions[at(b)];
            bool same = x.loops.size() == y.loops.size() && elementwise[at(a)] == elementwise[at(b)];
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
    std::vector<int> number(at(g.op_count), -1);
    for (int op = 0; op < g.op_count; ++op) {
        int& group = number[at(f.root(op))];
        if (group < 0) {
            group = static_cast<int>(all.ops.size());
            all.ops.emplace_back();
            all.elementwise.push_back(elementwise[at(op)]);
        }
        all.group_of.push_back(group);
        all.ops[at(group)].push_back(op);
    }
    return all;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
