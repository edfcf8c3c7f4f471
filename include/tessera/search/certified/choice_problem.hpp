// SPDX-License-Identifier: Apache-2.0
// One choice for every node of a graph: costs on nodes and on edges, and memory that nodes use over time. It is the
// form of OptCNN's cost model with memory added, and of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/search/optcnn/additive_problem.hpp"

#include <algorithm>
#include <span>

namespace tessera::search {

/// From when to when a node uses memory: first <= t < last; nothing where first >= last.
struct live_range {
    std::int64_t first = 0;
    std::int64_t last = 0;

    constexpr bool is_empty() const { return first >= last; }
    bool operator==(const live_range&) const = default;
};

/// No limit of memory.
inline constexpr std::int64_t no_limit = INT64_MAX;

/// Usages above are refused: sums over two thousand million nodes must not overflow.
inline constexpr std::int64_t most_usage = std::int64_t{1} << 48U;

/// Nodes with a cost and a usage for every choice, and edges with a cost for every pair of choices of their nodes. At
/// every time the usages of the nodes that are live then may sum to `limit` at most.
class choice_problem {
public:
    std::int64_t limit = no_limit; ///< in the usages' unit, at every time

    /// Adds a node and returns its index. Costs above `forbidden` are clipped to it. Throws tessera::error for no
    /// choice, for other numbers of usages than of costs, and for negative values.
    int add_node(std::span<const cost_t> costs, std::span<const std::int64_t> usages, live_range live);

    /// Adds an edge and returns its index. `table[a * choices(to) + b]` is the cost of choice a at `from` with b at
    /// `to`; two edges may join the same nodes. Throws tessera::error for an unknown node, an edge from a node to
    /// itself, a table of the wrong size and a negative cost.
    int add_edge(int from, int to, std::span<const cost_t> table);

    int nodes() const { return static_cast<int>(live_.size()); }
    int edges() const { return static_cast<int>(ends_.size()); }
    int choices(int node) const;
    std::size_t all_choices() const { return costs_.size(); }
    std::span<const cost_t> costs(int node) const { return part(costs_, first_choice_, node); }
    std::span<const std::int64_t> usages(int node) const { return part(usages_, first_choice_, node); }
    live_range live(int node) const { return live_[to_size(node)]; }
    edge_ends edge(int e) const { return ends_[to_size(e)]; }
    /// One row for each choice of the edge's first node.
    std::span<const cost_t> table(int e) const { return part(cells_, first_cell_, e); }

private:
    template <class T>
    static std::span<const T> part(const std::vector<T>& all, const std::vector<std::size_t>& first, int i) {
        return {all.data() + first[to_size(i)], first[to_size(i) + 1] - first[to_size(i)]};
    }

    std::vector<std::size_t> first_choice_{0};
    std::vector<cost_t> costs_;
    std::vector<std::int64_t> usages_;
    std::vector<live_range> live_;
    std::vector<std::size_t> first_cell_{0};
    std::vector<edge_ends> ends_;
    std::vector<cost_t> cells_;
};

/// What a choice costs and uses.
struct evaluation_of_choice {
    cost_t cost = 0;            ///< `forbidden` where any of its costs is
    std::int64_t peak = 0;      ///< the largest sum of usages at any time
    std::int64_t peak_time = 0; ///< the first time at which it is reached

    bool fits(const choice_problem& p) const { return cost < forbidden && peak <= p.limit; }
};

/// The cost of a choice and its use of memory over time, summed anew. Throws tessera::error unless it names an existing
/// choice for every node.
evaluation_of_choice evaluate(const choice_problem& p, std::span<const choice_t> choice);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/choice_problem.inl"
#endif

#include "tessera/base/end_header.inl"
