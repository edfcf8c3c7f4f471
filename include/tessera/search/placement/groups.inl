// SPDX-License-Identifier: Apache-2.0
// Bodies of groups.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/groups.hpp"

namespace tessera::search::placement {

TESSERA_INLINE assignment expand(const grouping& groups, const std::vector<int>& device_of_group) {
    assignment where(groups.of.size());
    for (std::size_t v = 0; v < where.size(); ++v) {
        where[v] = device_of_group[detail::at(groups.of[v])];
    }
    return where;
}

} // namespace tessera::search::placement

namespace tessera::search::placement::detail {

TESSERA_INLINE node_sets::node_sets(int nodes) {
    for (int v = 0; v < nodes; ++v) {
        up_.push_back(v);
    }
}

TESSERA_INLINE int node_sets::root(int v) {
    while (up_[at(v)] != v) {
        up_[at(v)] = up_[at(up_[at(v)])];
        v = up_[at(v)];
    }
    return v;
}

TESSERA_INLINE grouping numbered(const cost_graph& g, const graph_order& order, node_sets& sets) {
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

TESSERA_INLINE node_sets required_sets(const cost_graph& g) {
    node_sets sets(g.count());
    std::vector<std::pair<int, int>> members;
    for (int v = 0; v < g.count(); ++v) {
        if (g.nodes[at(v)].group >= 0) {
            members.push_back({g.nodes[at(v)].group, v});
        }
    }
    std::sort(members.begin(), members.end());
    for (std::size_t i = 1; i < members.size(); ++i) {
        if (members[i].first == members[i - 1].first) {
            sets.join(members[i].second, members[i - 1].second);
        }
    }
    return sets;
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE grouping required_groups(const cost_graph& g, const graph_order& order) {
    detail::node_sets sets = detail::required_sets(g);
    return detail::numbered(g, order, sets);
}

TESSERA_INLINE grouping colocated_groups(const cost_graph& g, const graph_order& order) {
    detail::node_sets sets = detail::required_sets(g);
    for (int v = 0; v < g.count(); ++v) {
        const int first = order.first_out[detail::at(v)];
        if (order.first_out[detail::at(v) + 1] - first == 1) {
            const int reader = g.edges[detail::at(order.out[detail::at(first)])].to;
            if (g.nodes[detail::at(reader)].parameter_bytes == 0) {
                sets.join(v, reader);
            }
        }
    }
    return detail::numbered(g, order, sets);
}

TESSERA_INLINE grouping chain_groups(const cost_graph& g, const graph_order& order, int most) {
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
