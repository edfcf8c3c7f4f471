// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that a placement moves together: what has to lie together, co-location as in Mirhoseini et al. (ICML
// 2017), and chains.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/cost_graph.hpp"

namespace tessera::search::placement {

/// Groups are numbered by their first nodes in topological order.
struct grouping {
    std::vector<int> of; ///< by node
    int count = 0;
};

/// The device of every node, given that of every group.
assignment expand(const grouping& groups, const std::vector<int>& device_of_group);

namespace detail {

/// Sets of nodes that grow together.
class node_sets {
public:
    explicit node_sets(int nodes);
    int root(int v);
    void join(int a, int b) { up_[to_size(root(a))] = root(b); }

private:
    std::vector<int> up_;
};

grouping numbered(const cost_graph& g, const graph_order& order, node_sets& sets);

node_sets required_sets(const cost_graph& g);

} // namespace detail

/// No groups but those that the graph asks for.
grouping required_groups(const cost_graph& g, const graph_order& order);

/// Mirhoseini et al. 2017, section 3.2, as recalled: what one node alone reads goes with that node. Their rules for
/// single networks are stood for by one of ours: a node with parameters starts a group, or else a chain of layers would
/// be one.
grouping colocated_groups(const cost_graph& g, const graph_order& order);

/// Joins what an edge joins, the least work first, until there are `most` groups: where the first is all that the
/// second reads, or the second all that reads the first. So groups never depend on each other in a circle, unless those
/// that the graph asks for do. Where no such edge is left there are more.
grouping chain_groups(const cost_graph& g, const graph_order& order, int most);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/groups.inl"
#endif

#include "tessera/base/end_header.inl"
