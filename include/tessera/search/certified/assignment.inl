// SPDX-License-Identifier: Apache-2.0
// Bodies of assignment.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/assignment.hpp"

namespace tessera::search::detail {

TESSERA_INLINE bool standing::operator<(const standing& o) const {
    return std::tie(broken, over, cost) < std::tie(o.broken, o.over, o.cost);
}

TESSERA_INLINE edge_lists::edge_lists(const reduced_problem& p) : of_nodes(p.nodes.size()) {
    for (std::size_t e = 0; e < p.edges.size(); ++e) {
        of_nodes[to_size(p.edges[e].from)].push_back(static_cast<int>(e));
        of_nodes[to_size(p.edges[e].to)].push_back(static_cast<int>(e));
    }
}

TESSERA_INLINE std::vector<std::int64_t> usage_sums(const reduced_problem& p, const std::vector<int>& choice) {
    return usage_sums(p, [&](std::size_t v) { return p.nodes[v].usages[to_size(choice[v])]; });
}

TESSERA_INLINE assignment::assignment(const reduced_problem& p, const edge_lists& edges, std::vector<int> choice)
    : p_(&p), edges_(&edges), choice_(std::move(choice)), used_(usage_sums(p, choice_)) {
    at_.cost = p.constant;
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        at_.cost += p.nodes[v].costs[to_size(choice_[v])];
    }
    for (const reduced_edge& e : p.edges) {
        count(e, choice_[to_size(e.from)], choice_[to_size(e.to)], 1);
    }
    at_.over = over();
}

TESSERA_INLINE bool assignment::is_broken(const reduced_edge& e) const {
    return e.cells[to_size(choice_[to_size(e.from)]) * p_->nodes[to_size(e.to)].choices.size() +
                   to_size(choice_[to_size(e.to)])] >= forbidden;
}

TESSERA_INLINE void assignment::set(int node, int to) {
    const reduced_node& n = p_->nodes[to_size(node)];
    const int from = choice_[to_size(node)];
    if (from == to) {
        return;
    }
    at_.cost += n.costs[to_size(to)] - n.costs[to_size(from)];
    for (const int i : edges_->of_nodes[to_size(node)]) {
        const reduced_edge& e = p_->edges[to_size(i)];
        const bool first = e.from == node;
        const int other = choice_[to_size(first ? e.to : e.from)];
        count(e, first ? from : other, first ? other : from, -1);
        count(e, first ? to : other, first ? other : to, 1);
    }
    used_.add(n.live, n.usages[to_size(to)] - n.usages[to_size(from)]);
    choice_[to_size(node)] = to;
    at_.over = over();
}

TESSERA_INLINE void assignment::count(const reduced_edge& e, int a, int b, int sign) {
    const std::int64_t c = e.cells[to_size(a) * p_->nodes[to_size(e.to)].choices.size() + to_size(b)];
    (c < forbidden ? at_.cost : at_.broken) += sign * (c < forbidden ? c : 1);
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
