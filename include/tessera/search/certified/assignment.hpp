// SPDX-License-Identifier: Apache-2.0
// A whole choice of a reduced problem that is being improved: its cost and its use of memory, kept up to date in whole
// numbers as choices change.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
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
    bool operator<(const standing& o) const;
};

/// The edges of each node of a reduced problem.
struct edge_lists {
    std::vector<std::vector<int>> of_nodes;

    explicit edge_lists(const reduced_problem& p);
};

/// What is used at each point if every node uses `usage(node)`.
template <class Usage>
std::vector<std::int64_t> usage_sums(const reduced_problem& p, const Usage& usage) {
    std::vector<std::int64_t> sums(to_size(p.points) + 1, 0); // first what changes at each point
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const std::int64_t used = usage(v);
        sums[to_size(p.nodes[v].live.first)] += used;
        sums[to_size(p.nodes[v].live.last)] -= used;
    }
    sums.pop_back();
    std::int64_t now = 0;
    for (std::size_t t = 0; t < sums.size(); ++t) {
        now += sums[t];
        sums[t] = now + p.base[t];
    }
    return sums;
}
std::vector<std::int64_t> usage_sums(const reduced_problem& p, const std::vector<int>& choice);

class assignment {
public:
    assignment(const reduced_problem& p, const edge_lists& edges, std::vector<int> choice);

    const std::vector<int>& choice() const { return choice_; }
    int choice(int node) const { return choice_[to_size(node)]; }
    const standing& now() const { return at_; }
    const usage_tree& used() const { return used_; }

    bool is_broken(const reduced_edge& e) const;

    void set(int node, int to);

private:
    void count(const reduced_edge& e, int a, int b, int sign);
    std::int64_t over() const { return p_->points > 0 ? std::max<std::int64_t>(0, used_.most() - p_->limit) : 0; }

    const reduced_problem* p_;
    const edge_lists* edges_;
    std::vector<int> choice_;
    usage_tree used_;
    standing at_;
};

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/assignment.inl"
#endif

#include "tessera/base/end_header.inl"
