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
        of_nodes[at(p.edges[e].from)].push_back(static_cast<int>(e));
        of_nodes[at(p.edges[e].to)].push_back(static_cast<int>(e));
    }
}

TESSERA_INLINE std::vector<std::int64_t> usage_sums(const reduced_problem& p, const std::vector<int>& choice) {
    return usage_sums(p, [&](std::size_t v) { return p.nodes[v].usages[at(choice[v])]; });
}

TESSERA_INLINE assignment::assignment(const reduced_problem& p, const edge_lists& edges, std::vector<int> choice)
    : p_(&p), edges_(&edges), choice_(std::move(choice)), used_(usage_sums(p, choice_)) {
    at_.cost = p.constant;
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        at_.cost += p.nodes[v].costs[at(choice_[v])];
    }
    for (const reduced_edge& e : p.edges) {
        count(e, choice_[at(e.from)], choice_[at(e.to)], 1);
    }
    at_.over = over();
}

TESSERA_INLINE bool assignment::is_broken(const reduced_edge& e) const {
    return e.cells[at(choice_[at(e.from)]) * p_->nodes[at(e.to)].choices.size() + at(choice_[at(e.to)])] >= forbidden;
}

TESSERA_INLINE void assignment::set(int node, int to) {
    const reduced_node& n = p_->nodes[at(node)];
    const int from = choice_[at(node)];
    if (from == to) {
        return;
    }
    at_.cost += n.costs[at(to)] - n.costs[at(from)];
    for (const int i : edges_->of_nodes[at(node)]) {
        const reduced_edge& e = p_->edges[at(i)];
        const bool first = e.from == node;
        const int other = choice_[at(first ? e.to : e.from)];
        count(e, first ? from : other, first ? other : from, -1);
        count(e, first ? to : other, first ? other : to, 1);
    }
    used_.add(n.live, n.usages[at(to)] - n.usages[at(from)]);
    choice_[at(node)] = to;
    at_.over = over();
}

TESSERA_INLINE void assignment::count(const reduced_edge& e, int a, int b, int sign) {
    const std::int64_t c = e.cells[at(a) * p_->nodes[at(e.to)].choices.size() + at(b)];
    (c < forbidden ? at_.cost : at_.broken) += sign * (c < forbidden ? c : 1);
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
