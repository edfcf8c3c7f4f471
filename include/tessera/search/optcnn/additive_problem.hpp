// SPDX-License-Identifier: Apache-2.0
// The combinatorial problem behind additive cost models: choose one configuration per node so that the costs of the
// nodes plus the costs of the edges are least.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/constant_vector.hpp"
#include "tessera/base/error.hpp"
#include "tessera/search/budget.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::search {

/// Costs are nanoseconds, at least 0.
using cost_t = std::int64_t;

/// The index of a configuration of a node.
using choice_t = std::uint16_t;

/// The cost of what may not be chosen (73 years). Sums saturate here, so a sum that reaches it is forbidden too; up to
/// four such costs add without overflow.
inline constexpr cost_t forbidden = INT64_MAX / 4;

inline constexpr int max_configurations = 65535;

/// Sum of two costs in [0, forbidden], at most `forbidden`.
constexpr cost_t add_costs(cost_t a, cost_t b) {
    const cost_t sum = a + b;
    return sum < forbidden ? sum : forbidden;
}

/// The nodes that an edge joins.
struct edge_ends {
    int from = 0;
    int to = 0;
};

/// A choice of configurations, one per node, with its cost.
struct solution {
    status state = status::solved;
    cost_t cost = 0;
    std::vector<choice_t> choice; ///< empty if infeasible, or if the budget ended before any choice was found
};

namespace detail {

[[noreturn]] void refuse_problem(const std::string& where, const std::string& what);

[[noreturn]] void refuse_node(int node, const char* what);

[[noreturn]] void refuse_edge(int from, int to, const std::string& what);

[[noreturn]] void refuse_table(int from, int to, std::size_t found, std::size_t needed);

/// Throws unless an edge joins two different ones of the nodes.
constexpr void require_ends(int from, int to, int nodes) {
    if (from < 0 || from >= nodes || to < 0 || to >= nodes) {
        refuse_edge(from, to, "there are only " + std::to_string(nodes) + " nodes; add the node first");
    }
    if (from == to) {
        refuse_edge(from, to, "joins a node to itself; add its cost to the node");
    }
}

/// Clips costs above `forbidden`; false if one is negative.
TESSERA_VECTOR_CONSTEXPR bool clip_costs(std::vector<cost_t>& costs) {
    for (cost_t& cost : costs) {
        if (cost < 0) {
            return false;
        }
        cost = cost < forbidden ? cost : forbidden;
    }
    return true;
}

} // namespace detail

/// Nodes with one cost per configuration, and edges with one cost per pair of configurations of their two nodes.
/// Several edges may join the same nodes. The total cost of a choice is the sum over all nodes and edges.
class additive_problem {
public:
    /// Adds a node with `unary.size()` configurations and returns its index. Costs above `forbidden` are clipped to it.
    /// Throws tessera::error for no or too many configurations and for a negative cost.
    TESSERA_VECTOR_CONSTEXPR int add_node(std::vector<cost_t> unary) {
        if (unary.empty()) {
            detail::refuse_node(nodes(), "has no configuration; give it at least one cost");
        }
        if (unary.size() > to_size(max_configurations)) {
            detail::refuse_node(nodes(), "has more than 65535 configurations; offer fewer");
        }
        if (!detail::clip_costs(unary)) {
            detail::refuse_node(nodes(), "has a negative cost; costs are nanoseconds, at least 0");
        }
        unary_.push_back(std::move(unary));
        unary_number_.push_back(nodes() - 1);
        return nodes() - 1;
    }
    /// Adds a node with the configurations and costs of another and returns its index. Throws tessera::error for an
    /// unknown node.
    TESSERA_VECTOR_CONSTEXPR int add_node_like(int node) {
        if (node < 0 || node >= nodes()) {
            detail::refuse_problem("node " + std::to_string(node),
                                   "is to be repeated, and there are only " + std::to_string(nodes()) + " nodes");
        }
        unary_.push_back(unary(node));
        unary_number_.push_back(unary_number(node));
        return nodes() - 1;
    }

    /// Adds an edge and returns its index. `table[a * configurations(to) + b]` is the cost of configuration a at `from`
    /// with b at `to`. Throws tessera::error for an unknown node, an edge from a node to itself, a table of the wrong
    /// size and a negative cost.
    TESSERA_VECTOR_CONSTEXPR int add_edge(int from, int to, std::vector<cost_t> table) {
        detail::require_ends(from, to, nodes());
        const std::size_t needed = unary_[to_size(from)].size() * unary_[to_size(to)].size();
        if (table.size() != needed) {
            detail::refuse_table(from, to, table.size(), needed);
        }
        if (!detail::clip_costs(table)) {
            detail::refuse_edge(from, to, "has a negative cost; costs are nanoseconds, at least 0");
        }
        ends_.push_back({from, to});
        table_of_.push_back(static_cast<int>(tables_.size()));
        tables_.push_back(std::move(table));
        return edges() - 1;
    }

    /// Adds an edge with the costs of another, which are kept once, and returns its index. Throws tessera::error for an
    /// unknown node or edge, an edge from a node to itself, and other numbers of configurations than the other edge's
    /// nodes have.
    TESSERA_VECTOR_CONSTEXPR int add_edge_like(int from, int to, int edge) {
        detail::require_ends(from, to, nodes());
        if (edge < 0 || edge >= edges()) {
            detail::refuse_edge(from, to,
                                "is to be like edge " + std::to_string(edge) + ", and there are only " +
                                    std::to_string(edges()) + " edges");
        }
        const edge_ends other = this->edge(edge);
        if (configurations(from) != configurations(other.from) || configurations(to) != configurations(other.to)) {
            detail::refuse_edge(from, to,
                                "the cost table has " + std::to_string(configurations(other.from)) + " rows and " +
                                    std::to_string(configurations(other.to)) + " columns but needs " +
                                    std::to_string(configurations(from)) + " and " +
                                    std::to_string(configurations(to)) + "; give the edge a table of its own");
        }
        ends_.push_back({from, to});
        table_of_.push_back(table_number(edge));
        return edges() - 1;
    }

    TESSERA_VECTOR_CONSTEXPR int nodes() const { return static_cast<int>(unary_.size()); }
    TESSERA_VECTOR_CONSTEXPR int edges() const { return static_cast<int>(ends_.size()); }
    TESSERA_VECTOR_CONSTEXPR int configurations(int node) const {
        return static_cast<int>(unary_[to_size(node)].size());
    }
    TESSERA_VECTOR_CONSTEXPR edge_ends edge(int e) const { return ends_[to_size(e)]; }
    /// Costs of a node, one per configuration.
    TESSERA_VECTOR_CONSTEXPR const std::vector<cost_t>& unary(int node) const { return unary_[to_size(node)]; }
    /// Nodes with one number have the same costs.
    TESSERA_VECTOR_CONSTEXPR int unary_number(int node) const { return unary_number_[to_size(node)]; }
    /// Costs of an edge, one row per configuration of its first node.
    TESSERA_VECTOR_CONSTEXPR const std::vector<cost_t>& table(int e) const { return tables_[to_size(table_number(e))]; }
    /// Edges with one number have one table; numbers are below tables().
    TESSERA_VECTOR_CONSTEXPR int table_number(int e) const { return table_of_[to_size(e)]; }
    TESSERA_VECTOR_CONSTEXPR int tables() const { return static_cast<int>(tables_.size()); }

    /// The total cost of a choice. Throws tessera::error unless it names an existing configuration for every node.
    TESSERA_VECTOR_CONSTEXPR cost_t cost(const std::vector<choice_t>& choice) const {
        if (choice.size() != unary_.size()) {
            detail::refuse_problem("choice", "must name one configuration for every node");
        }
        cost_t sum = 0;
        for (int v = 0; v < nodes(); ++v) {
            if (choice[to_size(v)] >= configurations(v)) {
                detail::refuse_node(v, "the choice names a configuration that it does not have");
            }
            sum = add_costs(sum, unary_[to_size(v)][choice[to_size(v)]]);
        }
        for (int e = 0; e < edges(); ++e) {
            const std::size_t row = choice[to_size(edge(e).from)];
            const std::size_t column = choice[to_size(edge(e).to)];
            sum = add_costs(sum, table(e)[row * unary_[to_size(edge(e).to)].size() + column]);
        }
        return sum;
    }

private:
    std::vector<std::vector<cost_t>> unary_;
    std::vector<int> unary_number_; ///< of every node
    std::vector<edge_ends> ends_;
    std::vector<int> table_of_; ///< of every edge
    std::vector<std::vector<cost_t>> tables_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/optcnn/additive_problem.inl"
#endif

#include "tessera/base/end_header.inl"
