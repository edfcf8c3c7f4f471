// SPDX-License-Identifier: Apache-2.0
// A whole choice of a reduced problem that is being improved: its cost and its use of memory, kept up to date in whole
// numbers as choices change.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/reduced.hpp"
#include "tessera/search/certified/usage_tree.hpp"

#include <tuple>

namespace tessera::search::detail {

/// How good a choice is: first it has to be allowed, then to fit, then to be cheap.
struct standing {
    std::int64_t broken = 0; ///< edges whose two choices are forbidden together
    std::int64_t over = 0;   ///< usage above the limit at the worst point
    std::int64_t cost = 0;   ///< of what is not forbidden

    bool is_feasible() const { return broken == 0 && over == 0; }
    bool operator==(const standing&) const = default;
    bool operator<(const standing& o) const {
        return std::tie(broken, over, cost) < std::tie(o.broken, o.over, o.cost);
    }
};

/// The edges of each node of a reduced problem.
struct edge_lists {
    std::vector<std::vector<int>> of_nodes;

    explicit edge_lists(const reduced_problem& p) : of_nodes(p.nodes.size()) {
        for (std::size_t e = 0; e < p.edges.size(); ++e) {
            of_nodes[at(p.edges[e].from)].push_back(static_cast<int>(e));
            of_nodes[at(p.edges[e].to)].push_back(static_cast<int>(e));
        }
    }
};

/// What is used at each point if every node uses `usage(node)`.
template <class Usage>
std::vector<std::int64_t> usage_sums(const reduced_problem& p, const Usage& usage) {
    std::vector<std::int64_t> sums(at(p.points) + 1, 0); // first what changes at each point
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const std::int64_t used = usage(v);
        sums[at(p.nodes[v].live.first)] += used;
        sums[at(p.nodes[v].live.last)] -= used;
    }
    sums.pop_back();
    std::int64_t now = 0;
    for (std::size_t t = 0; t < sums.size(); ++t) {
        now += sums[t];
        sums[t] = now + p.base[t];
    }
    return sums;
}
inline std::vector<std::int64_t> usage_sums(const reduced_problem& p, const std::vector<int>& choice) {
    return usage_sums(p, [&](std::size_t v) { return p.nodes[v].usages[at(choice[v])]; });
}

class assignment {
public:
    assignment(const reduced_problem& p, const edge_lists& edges, std::vector<int> choice)
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

    const std::vector<int>& choice() const { return choice_; }
    int choice(int node) const { return choice_[at(node)]; }
    const standing& now() const { return at_; }
    const usage_tree& used() const { return used_; }

    bool is_broken(const reduced_edge& e) const {
        return e.cells[at(choice_[at(e.from)]) * p_->nodes[at(e.to)].choices.size() + at(choice_[at(e.to)])] >=
               forbidden;
    }

    void set(int node, int to) {
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

private:
    void count(const reduced_edge& e, int a, int b, int sign) {
        const std::int64_t c = e.cells[at(a) * p_->nodes[at(e.to)].choices.size() + at(b)];
        (c < forbidden ? at_.cost : at_.broken) += sign * (c < forbidden ? c : 1);
    }
    std::int64_t over() const { return p_->points > 0 ? std::max<std::int64_t>(0, used_.most() - p_->limit) : 0; }

    const reduced_problem* p_;
    const edge_lists* edges_;
    std::vector<int> choice_;
    usage_tree used_;
    standing at_;
};

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
