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
    /// Whether group u is an ancestor of v: reaches[u * count + v]. Groups that depend on each other in a circle are
    /// ancestors of each other.
    std::vector<char> reaches;

    int count() const { return static_cast<int>(work.size()); }
    bool is_ancestor(int u, int v) const { return reaches[to_size(u * count() + v)] != 0; }
};

/// Which groups every group leads to, over one edge or more; itself is left out.
void find_reaches(group_graph& g);

/// Throws tessera::error where the grouping is of another graph.
group_graph group_graph_of(const search::placement::evaluator& e, const search::placement::grouping& groups);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/group_graph.inl"
#endif

#include "tessera/base/end_header.inl"
