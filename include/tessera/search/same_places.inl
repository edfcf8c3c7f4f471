// SPDX-License-Identifier: Apache-2.0
// Bodies of same_places.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/same_places.hpp"

namespace tessera::search {

TESSERA_INLINE bool is_symmetry(const cluster& on, const std::vector<int>& order) {
    const auto to = [&](int d) { return order[to_size(d)]; };
    for (int a = 0; a < on.devices(); ++a) {
        if (on.class_of(a).name != on.class_of(to(a)).name) {
            return false;
        }
        for (int b = 0; b < a; ++b) {
            const route r = on.between(a, b);
            const route s = on.between(to(a), to(b));
            if ((on.node_of(a) == on.node_of(b)) != (on.node_of(to(a)) == on.node_of(to(b))) ||
                r.latency != s.latency || r.megabytes != s.megabytes || r.lanes.size() != s.lanes.size()) {
                return false;
            }
        }
    }
    return true;
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE std::vector<int> matched(const std::vector<std::vector<index_t>>& votes) {
    const auto n = static_cast<int>(votes.size());
    std::vector<std::tuple<index_t, int, int, int>> pairs;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            const index_t v = votes[to_size(i)][to_size(j)];
            pairs.emplace_back(-v, i == j ? 0 : 1, i, j);
        }
    }
    std::sort(pairs.begin(), pairs.end());
    std::vector<int> to(votes.size(), -1);
    std::vector<char> taken(votes.size(), 0);
    for (const auto& [v, other, i, j] : pairs) {
        if (to[to_size(i)] < 0 && taken[to_size(j)] == 0) {
            to[to_size(i)] = j;
            taken[to_size(j)] = 1;
        }
    }
    return to;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::vector<int> same_places(const graph_view& g, const cluster& on, const strategy& a,
                                            const strategy& b) {
    const auto n = to_size(on.devices());
    std::vector<int> own(n);
    for (std::size_t d = 0; d < n; ++d) {
        own[d] = static_cast<int>(d);
    }
    if (!a.schedule.mirrored.empty() || !b.schedule.mirrored.empty() || a.ops.size() != b.ops.size()) {
        return own;
    }
    std::vector<std::vector<index_t>> votes(n, std::vector<index_t>(n, 0));
    std::vector<std::vector<index_t>> nodes(n, std::vector<index_t>(n, 0)); // by the nodes' first devices
    std::vector<int> first(n);
    for (std::size_t d = 0; d < n; ++d) {
        int i = 0;
        for (; on.node_of(i) != on.node_of(static_cast<int>(d)); ++i) {
        }
        first[d] = i;
    }
    for (int op = 0; op < g.op_count; ++op) {
        const auto at = to_size(op);
        const description d = g.describe(op);
        if (a.ops[at].shards() != b.ops[at].shards()) {
            continue;
        }
        for (int i = 0; i < a.ops[at].shards(); ++i) {
            const auto x = to_size(shard_at(a.ops[at], a.pool.data(), d, i).device);
            const auto y = to_size(shard_at(b.ops[at], b.pool.data(), d, i).device);
            ++votes[y][x];
            ++nodes[to_size(first[y])][to_size(first[x])];
        }
    }
    // Nodes first, then devices within them.
    const std::vector<int> node = detail::matched(nodes);
    for (std::size_t y = 0; y < n; ++y) {
        for (std::size_t x = 0; x < n; ++x) {
            const bool meets = node[to_size(first[y])] == first[x];
            votes[y][x] = meets ? votes[y][x] : -1;
        }
    }
    const std::vector<int> all = detail::matched(votes);
    // The same order within every node, for machines whose devices of one number are joined by rails.
    std::vector<std::vector<index_t>> rails(n, std::vector<index_t>(n, 0));
    for (std::size_t y = 0; y < n; ++y) {
        for (std::size_t x = 0; x < n; ++x) {
            rails[y - to_size(first[y])][x - to_size(first[x])] += std::max(votes[y][x], index_t{0});
        }
    }
    const std::vector<int> rail = detail::matched(rails);
    std::vector<int> in_all_nodes(n);
    std::vector<int> whole_nodes(n);
    for (std::size_t y = 0; y < n; ++y) {
        const int to = node[to_size(first[y])];
        in_all_nodes[y] = to + rail[y - to_size(first[y])];
        whole_nodes[y] = to + static_cast<int>(y) - first[y];
    }
    const auto is_order = [&](std::vector<int> order) {
        std::sort(order.begin(), order.end());
        return order == own;
    };
    for (const std::vector<int>& order : {all, in_all_nodes, whole_nodes}) {
        if (order != own && is_order(order) && is_symmetry(on, order)) {
            return order;
        }
    }
    return own;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
