// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that a placement moves together: what has to lie together, co-location as in Mirhoseini et al. (ICML 2017), and chains.
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
inline assignment expand(const grouping& groups, const std::vector<int>& device_of_group) {
    assignment where(groups.of.size());
    for (std::size_t v = 0; v < where.size(); ++v) {
        where[v] = device_of_group[detail::at(groups.of[v])];
    }
    return where;
}

namespace detail {

/// Sets of nodes that grow together.
class node_sets {
public:
    explicit node_sets(int nodes) {
        for (int v = 0; v < nodes; ++v) {
            up_.push_back(v);
        }
    }
    int root(int v) {
        while (up_[at(v)] != v) {
            up_[at(v)] = up_[at(up_[at(v)])];
            v = up_[at(v)];
        }
        return v;
    }
    void join(int a, int b) { up_[at(root(a))] = root(b); }

private:
    std::vector<int> up_;
};

inline grouping numbered(const cost_graph& g, const graph_order& order, node_sets& sets) {
    grouping result;
    std::vector<int> number(g.nodes.size(), -1);
    result.of.assign(g.nodes.size(), 0);
    for (const int v : order.order) {
        int& n = number[at(sets.root(v))];
        n = n < 0 ? result.count++ : n;
        result.of[at(v)] = n;
    }
    return result;
}

inline node_sets required_sets(const cost_graph& g) {
    node_sets sets(g.count());
    std::vector<std::pair<int, int>> members;
    for (int v = 0; v < g.count(); ++v) {
        g.nodes[at(v)].group >= 0 ? members.push_back({g.nodes[at(v)].group, v}) : void();
    }
    std::sort(members.begin(), members.end());
    for (std::size_t i = 1; i < members.size(); ++i) {
        members[i].first == members[i - 1].first ? sets.join(members[i].second, members[i - 1].second) : void();
    }
    return sets;
}

} // namespace detail

/// No groups but those that the graph asks for.
inline grouping required_groups(const cost_graph& g, const graph_order& order) {
    detail::node_sets sets = detail::required_sets(g);
    return detail::numbered(g, order, sets);
}

/// Mirhoseini et al. 2017, section 3.2, as recalled: what one node alone reads goes with that node. Their rules for single networks are stood for by one of
/// ours: a node with parameters starts a group, or else a chain of layers would be one.
inline grouping colocated_groups(const cost_graph& g, const graph_order& order) {
    detail::node_sets sets = detail::required_sets(g);
    for (int v = 0; v < g.count(); ++v) {
        const int first = order.first_out[detail::at(v)];
        if (order.first_out[detail::at(v) + 1] - first == 1) {
            const int reader = g.edges[detail::at(order.out[detail::at(first)])].to;
            g.nodes[detail::at(reader)].parameter_bytes == 0 ? sets.join(v, reader) : void();
        }
    }
    return detail::numbered(g, order, sets);
}

/// Joins what an edge joins, the least work first, until there are `most` groups: where the first is all that the second reads, or the second all that reads
/// the first. So groups never depend on each other in a circle, unless those that the graph asks for do. Where no such edge is left there are more.
inline grouping chain_groups(const cost_graph& g, const graph_order& order, int most) {
    detail::node_sets sets = detail::required_sets(g);
    grouping now = detail::numbered(g, order, sets);
    while (now.count > most) {
        std::vector<std::vector<int>> before(detail::at(now.count));
        std::vector<std::vector<int>> after(detail::at(now.count));
        std::vector<double> work(detail::at(now.count), 0);
        std::vector<int> member(detail::at(now.count), 0);
        for (int v = 0; v < g.count(); ++v) {
            const task_time& t = g.nodes[detail::at(v)].times.front();
            work[detail::at(now.of[detail::at(v)])] += static_cast<double>(t.forward) + static_cast<double>(t.backward);
            member[detail::at(now.of[detail::at(v)])] = v;
        }
        for (const cost_edge& e : g.edges) {
            const int from = now.of[detail::at(e.from)];
            const int to = now.of[detail::at(e.to)];
            if (from != to) {
                after[detail::at(from)].push_back(to);
                before[detail::at(to)].push_back(from);
            }
        }
        const auto alone = [](const std::vector<int>& list) {
            return !list.empty() &&
                   std::count(list.begin(), list.end(), list.front()) == static_cast<std::ptrdiff_t>(list.size());
        };
        // Pairs, the lightest first; a group takes part in one of them at most before all is counted anew.
        std::vector<std::pair<double, std::pair<int, int>>> pairs;
        for (int a = 0; a < now.count; ++a) {
            if (alone(after[detail::at(a)])) {
                const int b = after[detail::at(a)].front();
                pairs.push_back({work[detail::at(a)] + work[detail::at(b)], {a, b}});
            }
            if (alone(before[detail::at(a)])) {
                const int b = before[detail::at(a)].front();
                pairs.push_back({work[detail::at(a)] + work[detail::at(b)], {b, a}});
            }
        }
        std::sort(pairs.begin(), pairs.end());
        const double limit = pairs.empty() ? 0 : pairs[pairs.size() / 4].first; // heavier ones wait for the next round
        std::vector<char> taken(detail::at(now.count), 0);
        int left = now.count;
        for (const auto& [weight, pair] : pairs) {
            char& a = taken[detail::at(pair.first)];
            char& b = taken[detail::at(pair.second)];
            if (a == 0 && b == 0 && left > most && weight <= limit) {
                sets.join(member[detail::at(pair.first)], member[detail::at(pair.second)]);
                a = b = 1;
                --left;
            }
        }
        if (left == now.count) {
            break;
        }
        now = detail::numbered(g, order, sets);
    }
    return now;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
