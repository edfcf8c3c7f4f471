// SPDX-License-Identifier: Apache-2.0
// Graphs of groups with a placement, as padded arrays for networks whose inputs have fixed shapes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/group_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace tessera::learned {

/// What rows of a batch are padded to.
struct graph_limits {
    int nodes = 64;
    int edges = 256; ///< between different groups, each pair once
    int devices = 4;
    /// Numbers of a node: time, bytes of output, bytes of memory, whether it is the current one, whether it is done,
    /// and its device, one-hot.
    int features() const { return 5 + devices; }
};

/// A policy's state: where all groups lie, which one is placed next, and which have been in this pass.
struct placement_state {
    std::vector<int> device;
    int current = 0;
    std::vector<char> done;
};

/// The state in which nothing is done yet.
placement_state first_state(std::vector<int> device);

/// B rows, each a graph with a state. With N nodes, E edges and X features the arrays are those that their comments
/// say; rows lie behind each other. Padding: features, masks and gates of nodes that do not exist are 0. Edges that do
/// not exist read node 0 and go to node N, which a network cuts off.
class graph_batch {
public:
    explicit graph_batch(const graph_limits& l);

    std::vector<float> features;       ///< [B,N,X]; time and bytes are divided by the most of any node of the graph
    std::vector<float> has_parents;    ///< [B,N,1]: 1 where some edge comes in
    std::vector<float> has_children;   ///< [B,N,1]: 1 where some edge goes out
    std::vector<std::int32_t> from;    ///< [B,E]: the end that an edge leaves, to read
    std::vector<std::int32_t> to;      ///< [B,E]: the end that it enters, to read
    std::vector<std::int32_t> into;    ///< [B,E]: the end that it enters, to add to
    std::vector<std::int32_t> back;    ///< [B,E]: the end that it leaves, to add to
    std::vector<std::int32_t> current; ///< [B,1]
    std::vector<float> ancestors;      ///< [B,1,N]: 1 for those of the current node
    std::vector<float> descendants;    ///< [B,1,N]
    std::vector<float> others;         ///< [B,1,N]: 1 for nodes that are neither, the current one left out

    int size() const { return size_; }
    const graph_limits& limits() const { return limits_; }

    void clear();

    /// Throws tessera::error where the graph is larger than the limits, or the state does not fit the graph.
    void add(const group_graph& g, const placement_state& s);

    /// Rows without any node, until there are so many.
    void pad_to(int rows);

private:
    void check(const group_graph& g, const placement_state& s) const;

    void add_features(const group_graph& g, const placement_state& s);

    void add_edges(const group_graph& g);

    void add_masks(const group_graph& g, int now);

    graph_limits limits_;
    int size_ = 0;
};

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/graph_batch.inl"
#endif

#include "tessera/base/end_header.inl"
