// SPDX-License-Identifier: Apache-2.0
// Bodies of split_graph.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/split_graph.hpp"

namespace tessera::search::detail {

TESSERA_INLINE void split_graph::lift(const hanging& h, const double* node, double* parent, double* row) const {
    const std::size_t others = count(h.parent);
    std::fill_n(row, others, HUGE_VAL);
    for (std::size_t a = 0; a < count(h.node); ++a) {
        lower(row, &h.cells[a * others], node[a], others);
    }
    for (std::size_t b = 0; b < others; ++b) {
        parent[b] += row[b];
    }
}

TESSERA_INLINE int split_graph::cheapest(const hanging& h, const double* node, int parent_choice) const {
    const std::size_t others = count(h.parent);
    const double* cells = &h.cells[to_size(parent_choice)];
    std::size_t best = 0;
    for (std::size_t a = 1; a < count(h.node); ++a) {
        best = node[a] + cells[a * others] < node[best] + cells[best * others] ? a : best;
    }
    return static_cast<int>(best);
}

TESSERA_INLINE void split_graph::lower(double* to, const double* row, double add, std::size_t count) {
    for (std::size_t b = 0; b < count; ++b) {
        const double sum = row[b] + add;
        to[b] = sum < to[b] ? sum : to[b];
    }
}

TESSERA_INLINE double at_most(std::int64_t x) {
    const auto d = static_cast<double>(x);
    return d < 9.2e18 && static_cast<std::int64_t>(d) > x ? std::nextafter(d, -HUGE_VAL) : d;
}

TESSERA_INLINE split_graph split_graph_maker::made() {
    bound_costs();
    add_costs();
    hang_leaves();
    link_core();
    return std::move(g_);
}

TESSERA_INLINE void split_graph_maker::bound_costs() {
    g_.all = 1;
    for (const reduced_node& v : p_.nodes) {
        const auto [least, most] = std::minmax_element(v.costs.begin(), v.costs.end());
        g_.all += static_cast<double>(*most - *least);
    }
    for (const reduced_edge& e : p_.edges) {
        std::int64_t most = 0;
        for (const std::int64_t c : e.cells) {
            most = c < forbidden ? std::max(most, c) : most;
        }
        g_.all += static_cast<double>(most);
    }
    g_.high = std::min(2 * g_.all, 140737488355328.0);
}

TESSERA_INLINE void split_graph_maker::add_costs() {
    for (const reduced_node& v : p_.nodes) {
        g_.costs.emplace_back();
        for (const std::int64_t c : v.costs) {
            g_.costs.back().push_back(at_most(c));
        }
        g_.first.push_back(g_.first.empty() ? 0 : g_.first.back() + g_.costs[g_.costs.size() - 2].size());
        g_.widest = std::max(g_.widest, v.costs.size());
    }
    g_.first.push_back(g_.first.empty() ? 0 : g_.first.back() + g_.costs.back().size());
}

/// Leaves go first, until only nodes with two neighbours or more are left: the core.
TESSERA_INLINE void split_graph_maker::hang_leaves() {
    const std::size_t n = p_.nodes.size();
    std::vector<std::vector<int>> edges_of(n);
    for (std::size_t e = 0; e < p_.edges.size(); ++e) {
        edges_of[to_size(p_.edges[e].from)].push_back(static_cast<int>(e));
        edges_of[to_size(p_.edges[e].to)].push_back(static_cast<int>(e));
    }
    std::vector<int> degree(n), leaves;
    std::vector<char> gone(n, 0);
    used_.assign(p_.edges.size(), 0);
    g_.tree_of.assign(n, -1);
    g_.links_of.resize(n);
    for (std::size_t v = n; v-- > 0;) {
        degree[v] = static_cast<int>(edges_of[v].size());
        if (degree[v] == 1) {
            leaves.push_back(static_cast<int>(v));
        }
    }
    for (std::size_t next = 0; next < leaves.size(); ++next) {
        const int v = leaves[next];
        if (degree[to_size(v)] != 1) {
            continue; // its only neighbour went first: a root
        }
        for (const int e : edges_of[to_size(v)]) {
            if (used_[to_size(e)] != 0) {
                continue;
            }
            const int parent = p_.edges[to_size(e)].from == v ? p_.edges[to_size(e)].to : p_.edges[to_size(e)].from;
            hang(e, v, parent);
            gone[to_size(v)] = 1;
            degree[to_size(v)] = 0;
            if (--degree[to_size(parent)] == 1) {
                leaves.push_back(parent);
            }
        }
    }
    for (std::size_t v = 0; v < n; ++v) {
        if (gone[v] == 0) {
            g_.core.push_back(static_cast<int>(v));
        }
    }
}

TESSERA_INLINE void split_graph_maker::hang(int edge, int leaf, int parent) {
    const reduced_edge& e = p_.edges[to_size(edge)];
    split_graph::hanging h{leaf, parent, {}};
    const std::size_t mine = p_.nodes[to_size(leaf)].costs.size(), others = p_.nodes[to_size(parent)].costs.size();
    for (std::size_t a = 0; a < mine; ++a) {
        for (std::size_t b = 0; b < others; ++b) {
            h.cells.push_back(value(e.cells[e.from == leaf ? a * others + b : b * mine + a]));
        }
    }
    used_[to_size(edge)] = 1;
    g_.tree_of[to_size(leaf)] = static_cast<int>(g_.trees.size());
    g_.trees.push_back(std::move(h));
}

TESSERA_INLINE void split_graph_maker::link_core() {
    for (std::size_t e = 0; e < p_.edges.size(); ++e) {
        if (used_[e] == 0) {
            link(p_.edges[e]);
        }
    }
}

TESSERA_INLINE void split_graph_maker::link(const reduced_edge& edge) {
    const bool turned = edge.from > edge.to;
    split_graph::link k{std::min(edge.from, edge.to), std::max(edge.from, edge.to), {}, {}};
    const std::size_t rows = p_.nodes[to_size(edge.from)].costs.size(),
                      columns = p_.nodes[to_size(edge.to)].costs.size();
    std::vector<double> as_is, other(edge.cells.size());
    for (const std::int64_t c : edge.cells) {
        as_is.push_back(value(c));
    }
    for (std::size_t a = 0; a < rows; ++a) {
        for (std::size_t b = 0; b < columns; ++b) {
            other[b * rows + a] = as_is[a * columns + b];
        }
    }
    k.rows = turned ? other : as_is;
    k.columns = turned ? std::move(as_is) : std::move(other);
    g_.links_of[to_size(k.from)].push_back(static_cast<int>(g_.links.size()));
    g_.links_of[to_size(k.to)].push_back(static_cast<int>(g_.links.size()));
    g_.links.push_back(std::move(k));
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
