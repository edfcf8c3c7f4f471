// SPDX-License-Identifier: Apache-2.0
// Bodies of group_graph.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/group_graph.hpp"

#include "tessera/base/stable_sort.hpp"

namespace tessera::learned {

TESSERA_INLINE void find_reaches(group_graph& g) {
    const auto n = to_size(g.count());
    std::vector<std::vector<int>> next(n);
    for (const group_edge& e : g.edges) {
        next[to_size(e.from)].push_back(e.to);
    }
    g.reaches.assign(n * n, 0);
    for (std::size_t u = 0; u < n; ++u) {
        std::vector<int> open = next[u];
        while (!open.empty()) {
            const auto v = to_size(open.back());
            open.pop_back();
            if (g.reaches[u * n + v] == 0) {
                g.reaches[u * n + v] = 1;
                open.insert(open.end(), next[v].begin(), next[v].end());
            }
        }
        g.reaches[u * n + u] = 0;
    }
}

TESSERA_INLINE group_graph group_graph_of(const search::placement::evaluator& e,
                                          const search::placement::grouping& groups) {
    const search::placement::cost_graph& from = e.graph();
    if (groups.of.size() != from.nodes.size()) {
        throw error("tessera: groups of " + std::to_string(groups.of.size()) +
                    " nodes were given for the cost graph '" + from.name + "', which has " +
                    std::to_string(from.nodes.size()) + "; group this graph");
    }
    group_graph g;
    const auto n = to_size(groups.count);
    g.work.assign(n, 0);
    g.output_bytes.assign(n, 0);
    g.memory_bytes.assign(n, 0);
    for (int v = 0; v < from.count(); ++v) {
        const search::placement::cost_node& node = from.nodes[to_size(v)];
        const auto group = to_size(groups.of[to_size(v)]);
        g.work[group] += search::placement::work_of(e, v);
        g.output_bytes[group] += static_cast<double>(node.output_bytes);
        g.memory_bytes[group] += static_cast<double>(node.resident_bytes) + static_cast<double>(node.output_bytes);
    }
    for (const search::placement::cost_edge& x : from.edges) {
        const int a = groups.of[to_size(x.from)];
        const int b = groups.of[to_size(x.to)];
        if (a != b) {
            g.edges.push_back({a, b, static_cast<double>(x.bytes)});
        }
    }
    tessera::detail::stable_sort(g.edges, [](const group_edge& a, const group_edge& b) {
        return std::pair{a.from, a.to} < std::pair{b.from, b.to};
    });
    std::vector<group_edge> once;
    for (const group_edge& x : g.edges) {
        if (!once.empty() && once.back().from == x.from && once.back().to == x.to) {
            once.back().bytes += x.bytes;
        } else {
            once.push_back(x);
        }
    }
    g.edges = std::move(once);
    find_reaches(g);
    return g;
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
