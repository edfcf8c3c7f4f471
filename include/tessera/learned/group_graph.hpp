// SPDX-License-Identifier: Apache-2.0
// A graph of groups: what policies see of a cost graph whose nodes a grouping has put together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace tessera::learned {

/// Some node of the group `to` reads what nodes of the group `from` make.
struct group_edge {
    int from = 0;
    int to = 0;
    double bytes = 0;
    friend bool operator==(const group_edge&, const group_edge&) = default;
};

/// Groups by their numbers, which are in topological order of their first nodes (see `grouping`).
struct group_graph {
    std::vector<double> work;         ///< ns of all forward and backward tasks, on the first device
    std::vector<double> output_bytes; ///< what its nodes make
    std::vector<double> memory_bytes; ///< what its nodes hold and make
    std::vector<group_edge> edges;    ///< by `from`, then `to`; each pair once, no group with itself
    /// Whether group u is an ancestor of v: reaches[u * count + v]. Groups that depend on each other in a circle are ancestors of each other.
    std::vector<char> reaches;

    int count() const { return static_cast<int>(work.size()); }
    bool is_ancestor(int u, int v) const { return reaches[static_cast<std::size_t>(u * count() + v)] != 0; }
};

/// Which groups every group leads to, over one edge or more; itself is left out.
inline void find_reaches(group_graph& g) {
    const auto n = static_cast<std::size_t>(g.count());
    std::vector<std::vector<int>> next(n);
    for (const group_edge& e : g.edges) {
        next[static_cast<std::size_t>(e.from)].push_back(e.to);
    }
    g.reaches.assign(n * n, 0);
    for (std::size_t u = 0; u < n; ++u) {
        std::vector<int> open = next[u];
        while (!open.empty()) {
            const auto v = static_cast<std::size_t>(open.back());
            open.pop_back();
            if (g.reaches[u * n + v] == 0) {
                g.reaches[u * n + v] = 1;
                open.insert(open.end(), next[v].begin(), next[v].end());
            }
        }
        g.reaches[u * n + u] = 0;
    }
}

/// Throws tessera::error where the grouping is of another graph.
inline group_graph group_graph_of(const search::placement::evaluator& e, const search::placement::grouping& groups) {
    const search::placement::cost_graph& from = e.graph();
    if (groups.of.size() != from.nodes.size()) {
        throw error("tessera: groups of " + std::to_string(groups.of.size()) +
                    " nodes were given for the cost graph '" + from.name + "', which has " +
                    std::to_string(from.nodes.size()) + "; group this graph");
    }
    group_graph g;
    const auto n = static_cast<std::size_t>(groups.count);
    g.work.assign(n, 0);
    g.output_bytes.assign(n, 0);
    g.memory_bytes.assign(n, 0);
    for (int v = 0; v < from.count(); ++v) {
        const search::placement::cost_node& node = from.nodes[static_cast<std::size_t>(v)];
        const auto group = static_cast<std::size_t>(groups.of[static_cast<std::size_t>(v)]);
        g.work[group] += search::placement::work_of(e, v);
        g.output_bytes[group] += static_cast<double>(node.output_bytes);
        g.memory_bytes[group] += static_cast<double>(node.held_bytes) + static_cast<double>(node.output_bytes);
    }
    for (const search::placement::cost_edge& x : from.edges) {
        const int a = groups.of[static_cast<std::size_t>(x.from)];
        const int b = groups.of[static_cast<std::size_t>(x.to)];
        a != b ? g.edges.push_back({a, b, static_cast<double>(x.bytes)}) : void();
    }
    std::stable_sort(g.edges.begin(), g.edges.end(), [](const group_edge& a, const group_edge& b) {
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
