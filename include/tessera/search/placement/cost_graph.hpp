// SPDX-License-Identifier: Apache-2.0
// A network as a graph of costs, for the placement of operators: what each takes in time and memory, and what flows
// between them. It may come from anywhere.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/machine/device_graph.hpp"

#include <algorithm>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace tessera::search::placement {

inline constexpr index_t longest_task = 1'000'000'000'000; ///< ns
inline constexpr int most_nodes = 1'000'000;
inline constexpr int most_edges = 16'000'000;

/// In task_time: the kind of device cannot run the node.
inline constexpr index_t unsupported = -1;

/// What a node takes on one kind of device.
struct task_time {
    index_t forward = 0; ///< ns, or `unsupported` (then backward is too)
    index_t backward = 0;
    friend bool operator==(const task_time&, const task_time&) = default;
};

struct cost_node {
    std::string name{};
    std::vector<task_time> times{}; ///< for every class of the machine's devices, or one that holds for all
    index_t output_bytes = 0;       ///< lives from the forward task to the end of the backward task
    index_t parameter_bytes = 0;    ///< for planners that replicate
    index_t resident_bytes = 0; ///< what its device holds during the whole step: parameters, gradients, optimizer state
    int group = -1;             ///< nodes of one group lie on one device; -1: alone
    friend bool operator==(const cost_node&, const cost_node&) = default;
};

/// `to` reads so many bytes of what `from` makes, and the gradient of as many flows back.
struct cost_edge {
    int from = 0;
    int to = 0;
    index_t bytes = 0;
    friend bool operator==(const cost_edge&, const cost_edge&) = default;
};

struct cost_graph {
    std::string name{};
    /// Every node has a backward task too. False for inference, and where backward operators are nodes of their own.
    bool backward = true;
    std::vector<cost_node> nodes;
    std::vector<cost_edge> edges;
    friend bool operator==(const cost_graph&, const cost_graph&) = default;

    int count() const { return static_cast<int>(nodes.size()); }
};

/// The device of every node.
using assignment = std::vector<int>;

namespace detail {

[[noreturn]] void refuse_graph(const cost_graph& g, const std::string& what);

std::string text_of_node(const cost_graph& g, int v);

void check_range(const cost_graph& g, int v, const char* what, index_t value, index_t least, index_t most);

void check_node(const cost_graph& g, int v);

} // namespace detail

/// Throws tessera::error, which names the node or edge, unless every number is in its range and every edge joins two
/// nodes. Cycles are found by graph_order.
void require(const cost_graph& g);

/// The edges by their nodes, and an order in which every node comes after those that it reads.
struct graph_order {
    std::vector<int> order;    ///< nodes; of those that could come next, the one with the least number
    std::vector<int> position; ///< of every node in it
    std::vector<int> first_out;
    std::vector<int>
        out; ///< numbers of edges: those from node v are out[first_out[v]] to out[first_out[v + 1]], in their order
    std::vector<int> first_in;
    std::vector<int> in;

    /// Throws tessera::error where the graph is not sound or has a cycle, which it names.
    explicit graph_order(const cost_graph& g);

private:
    template <class End>
    static std::vector<int> starts(const cost_graph& g, End end) {
        std::vector<int> first(g.nodes.size() + 1, 0);
        for (const cost_edge& e : g.edges) {
            ++first[to_size(end(e)) + 1];
        }
        for (std::size_t v = 0; v < g.nodes.size(); ++v) {
            first[v + 1] += first[v];
        }
        return first;
    }

    void sort(const cost_graph& g);

    /// From a node that was never free one goes back over others that were not, until one comes twice.
    [[noreturn]] void refuse_cycle(const cost_graph& g) const;
};

/// What a node takes on a class of devices.
const task_time& time_on(const cost_node& n, int device_class);

/// Throws tessera::error unless every node has a time for every class of the machine's devices, or one for all.
void require_times(const cost_graph& g, const device_graph& machine);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/cost_graph.inl"
#endif

#include "tessera/base/end_header.inl"
