// SPDX-License-Identifier: Apache-2.0
// Bodies of groups.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/groups.hpp"

namespace tessera::search::placement {

TESSERA_INLINE assignment expand(const grouping& groups, const std::vector<int>& device_of_group) {
    assignment where(groups.of.size());
    for (std::size_t v = 0; v < where.size(); ++v) {
        where[v] = device_of_group[to_size(groups.of[v])];
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
    while (up_[to_size(v)] != v) {
        up_[to_size(v)] = up_[to_size(up_[to_size(v)])];
        v = up_[to_size(v)];
    }
    return v;
}

TESSERA_INLINE grouping numbered(const cost_graph& g, const graph_order& order, node_sets& sets) {
    grouping result;
    std::vector<int> number(g.nodes.size(), -1);
    result.of.assign(g.nodes.size(), 0);
    for (const int v : order.order) {
        int& n = number[to_size(sets.root(v))];
        n = n < 0 ? result.count++ : n;
        result.of[to_size(v)] = n;
    }
    return result;
}

TESSERA_INLINE node_sets required_sets(const cost_graph& g) {
    node_sets sets(g.count());
    std::vector<std::pair<int, int>> members;
    for (int v = 0; v < g.count(); ++v) {
        if (g.nodes[to_size(v)].group >= 0) {
            members.push_back({g.nodes[to_size(v)].group, v});
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
        const int first = order.first_out[to_size(v)];
        if (order.first_out[to_size(v) + 1] - first == 1) {
            const int reader = g.edges[to_size(order.out[to_size(first)])].to;
            if (g.nodes[to_size(reader)].parameter_bytes == 0) {
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
        std::vector<std::vector<int>> before(to_size(now.count));
        std::vector<std::vector<int>> after(to_size(now.count));
        std::vector<double> work(to_size(now.count), 0);
        std::vector<int> member(to_size(now.count), 0);
        for (int v = 0; v < g.count(); ++v) {
            const task_time& t = g.nodes[to_size(v)].times.front();
            work[to_size(now.of[to_size(v)])] += static_cast<double>(t.forward) + static_cast<double>(t.backward);
            member[to_size(now.of[to_size(v)])] = v;
        }
        for (const cost_edge& e : g.edges) {
            const int from = now.of[to_size(e.from)];
            const int to = now.of[to_size(e.to)];
            if (from != to) {
                after[to_size(from)].push_back(to);
                before[to_size(to)].push_back(from);
            }
        }
        const auto alone = [](const std::vector<int>& list) {
            return !list.empty() &&
                   std::count(list.begin(), list.end(), list.front()) == static_cast<std::ptrdiff_t>(list.size());
        };
        // Pairs, the lightest first; a group takes part in one of them at most before all is counted anew.
        std::vector<std::pair<double, std::pair<int, int>>> pairs;
        for (int a = 0; a < now.count; ++a) {
            if (alone(after[to_size(a)])) {
                const int b = after[to_size(a)].front();
                pairs.push_back({work[to_size(a)] + work[to_size(b)], {a, b}});
            }
            if (alone(before[to_size(a)])) {
                const int b = before[to_size(a)].front();
                pairs.push_back({work[to_size(a)] + work[to_size(b)], {b, a}});
            }
        }
        std::sort(pairs.begin(), pairs.end());
        const double limit = pairs.empty() ? 0 : pairs[pairs.size() / 4].first; // heavier ones wait for the next round
        std::vector<char> taken(to_size(now.count), 0);
        int left = now.count;
        for (const auto& [weight, pair] : pairs) {
            char& a = taken[to_size(pair.first)];
            char& b = taken[to_size(pair.second)];
            if (a == 0 && b == 0 && left > most && weight <= limit) {
                sets.join(member[to_size(pair.first)], member[to_size(pair.second)]);
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
