// SPDX-License-Identifier: Apache-2.0
// One choice for every node of a graph: costs on nodes and on edges, and memory that nodes use over time. It is the
// form of OptCNN's cost model with memory added, and of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism.
#pragma once
#include "tessera/base/begin_header.inl"

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
    int add_node(std::span<const cost_t> costs, std::span<const std::int64_t> usages, live_range live) {
        if (costs.empty() || costs.size() > detail::at(max_configurations)) {
            detail::refuse_node(nodes(), costs.empty() ? "has no choice; give it at least one cost"
                                                       : "has more than 65535 choices; offer fewer");
        }
        if (usages.size() != costs.size()) {
            detail::refuse_problem("node " + std::to_string(nodes()),
                                   "has " + std::to_string(costs.size()) + " costs but " +
                                       std::to_string(usages.size()) + " usages; give one for each choice");
        }
        for (const cost_t c : costs) {
            if (c < 0) {
                detail::refuse_node(nodes(), "has a negative cost; costs are at least 0");
            }
            costs_.push_back(std::min(c, forbidden));
        }
        for (const std::int64_t u : usages) {
            if (u < 0 || u > most_usage) {
                detail::refuse_node(nodes(), "has a usage below 0 or above 2^48; choose a larger unit");
            }
            usages_.push_back(u);
        }
        live_.push_back(live);
        first_choice_.push_back(costs_.size());
        return nodes() - 1;
    }

    /// Adds an edge and returns its index. `table[a * choices(to) + b]` is the cost of choice a at `from` with b at
    /// `to`; two edges may join the same nodes. Throws tessera::error for an unknown node, an edge from a node to
    /// itself, a table of the wrong size and a negative cost.
    int add_edge(int from, int to, std::span<const cost_t> table) {
        detail::require_ends(from, to, nodes());
        const std::size_t needed = detail::at(choices(from)) * detail::at(choices(to));
        if (table.size() != needed) {
            detail::refuse_table(from, to, table.size(), needed);
        }
        for (const cost_t c : table) {
            if (c < 0) {
                detail::refuse_edge(from, to, "has a negative cost; costs are at least 0");
            }
            cells_.push_back(std::min(c, forbidden));
        }
        ends_.push_back({from, to});
        first_cell_.push_back(cells_.size());
        return edges() - 1;
    }

    int nodes() const { return static_cast<int>(live_.size()); }
    int edges() const { return static_cast<int>(ends_.size()); }
    int choices(int node) const {
        return static_cast<int>(first_choice_[detail::at(node) + 1] - first_choice_[detail::at(node)]);
    }
    std::size_t all_choices() const { return costs_.size(); }
    std::span<const cost_t> costs(int node) const { return part(costs_, first_choice_, node); }
    std::span<const std::int64_t> usages(int node) const { return part(usages_, first_choice_, node); }
    live_range live(int node) const { return live_[detail::at(node)]; }
    edge_ends edge(int e) const { return ends_[detail::at(e)]; }
    /// One row for each choice of the edge's first node.
    std::span<const cost_t> table(int e) const { return part(cells_, first_cell_, e); }

private:
    template <class T>
    static std::span<const T> part(const std::vector<T>& all, const std::vector<std::size_t>& first, int i) {
        return {all.data() + first[detail::at(i)], first[detail::at(i) + 1] - first[detail::at(i)]};
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
inline evaluation_of_choice evaluate(const choice_problem& p, std::span<const choice_t> choice) {
    if (choice.size() != detail::at(p.nodes())) {
        detail::refuse_problem("choice", "names " + std::to_string(choice.size()) + " nodes, but the problem has " +
                                             std::to_string(p.nodes()));
    }
    evaluation_of_choice r;
    std::vector<std::pair<std::int64_t, std::int64_t>> changes; // (time, what comes or goes)
    for (int v = 0; v < p.nodes(); ++v) {
        const choice_t c = choice[detail::at(v)];
        if (c >= p.choices(v)) {
            detail::refuse_node(v, "the choice names a configuration that it does not have");
        }
        r.cost = add_costs(r.cost, p.costs(v)[c]);
        if (!p.live(v).is_empty()) {
            changes.emplace_back(p.live(v).first, p.usages(v)[c]);
            changes.emplace_back(p.live(v).last, -p.usages(v)[c]);
        }
    }
    for (int e = 0; e < p.edges(); ++e) {
        const edge_ends ends = p.edge(e);
        r.cost =
            add_costs(r.cost, p.table(e)[detail::at(choice[detail::at(ends.from)]) * detail::at(p.choices(ends.to)) +
                                         choice[detail::at(ends.to)]]);
    }
    std::sort(changes.begin(), changes.end()); // what goes at a time comes first: ranges are half open
    std::int64_t used = 0;
    for (const auto& [time, change] : changes) {
        used += change;
        if (used > r.peak) {
            r.peak = used;
            r.peak_time = time;
        }
    }
    return r;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
