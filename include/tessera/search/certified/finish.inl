// SPDX-License-Identifier: Apache-2.0
// Bodies of finish.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/finish.hpp"

namespace tessera::search::detail {

TESSERA_INLINE exact_finish::exact_finish(const reduced_problem& p, const split_graph& g, const edge_lists& edges,
                                          const dual_ascent& d)
    : p_(p), g_(g), edges_(edges), d_(d), least_(least_usages(p)),
      used_(usage_sums(p, [this](std::size_t v) { return least_[v]; })) {
    order_ = g.core;
    for (std::size_t t = g.trees.size(); t-- > 0;) { // parents first
        order_.push_back(g.trees[t].node);
    }
    for (std::size_t l = 0; l < g.links.size(); ++l) {
        const split_graph::link& k = g.links[l];
        double best = HUGE_VAL;
        for (std::size_t a = 0; a < g.costs[to_size(k.from)].size(); ++a) {
            for (std::size_t b = 0; b < g.costs[to_size(k.to)].size(); ++b) {
                best = std::min(best, rest(l, a, b));
            }
        }
        least_rest_.push_back(best);
    }
}

TESSERA_INLINE bool exact_finish::run(std::int64_t best, std::int64_t most_steps, std::vector<int>& found) {
    double bound = static_cast<double>(p_.constant) - d_.paid();
    for (std::size_t i = 0; i < g_.core.size(); ++i) {
        bound += d_.least(static_cast<int>(i));
    }
    for (const double least : least_rest_) {
        bound += least;
    }
    best_ = best;
    found_ = &found;
    steps_ = most_steps;
    choice_.assign(p_.nodes.size(), 0);
    slack_ = 0.01 + 1e-13 * std::max(g_.high, g_.all) * static_cast<double>(p_.nodes.size() + p_.edges.size());
    return descend(0, bound);
}

TESSERA_INLINE std::vector<std::int64_t> exact_finish::least_usages(const reduced_problem& p) {
    std::vector<std::int64_t> least;
    for (const reduced_node& n : p.nodes) {
        least.push_back(*std::min_element(n.usages.begin(), n.usages.end()));
    }
    return least;
}

TESSERA_INLINE double exact_finish::rest(std::size_t l, std::size_t a, std::size_t b) const {
    const split_graph::link& k = g_.links[l];
    return k.rows[a * g_.costs[to_size(k.to)].size() + b] - d_.given_to_from(l)[a] - d_.given_to_to(l)[b];
}

TESSERA_INLINE bool exact_finish::descend(std::size_t depth, double bound) {
    if (depth == order_.size()) {
        const assignment all(p_, edges_, choice_);
        if (all.now().is_feasible() && all.now().cost < best_) {
            best_ = all.now().cost;
            *found_ = choice_;
        }
        return true;
    }
    const int v = order_[depth];
    const reduced_node& n = p_.nodes[to_size(v)];
    std::vector<std::pair<double, int>> costs = extra(depth, v);
    std::sort(costs.begin(), costs.end());
    for (const auto& [more, c] : costs) {
        if (bound + more - slack_ > static_cast<double>(best_ - 1)) {
            break; // the others cost even more
        }
        if (--steps_ < 0) {
            return false;
        }
        const std::int64_t uses = n.usages[to_size(c)] - least_[to_size(v)];
        used_.add(n.live, uses);
        choice_[to_size(v)] = c;
        const bool all = used_.most() > p_.limit || descend(depth + 1, bound + more);
        used_.add(n.live, -uses);
        if (!all) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE std::vector<std::pair<double, int>> exact_finish::extra(std::size_t depth, int v) const {
    const std::size_t count = g_.costs[to_size(v)].size();
    std::vector<double> sum(d_.lifted(v), d_.lifted(v) + count);
    if (depth < g_.core.size()) {
        sum = d_.excess(static_cast<int>(depth));
        for (const int l : g_.links_of[to_size(v)]) {
            const split_graph::link& k = g_.links[to_size(l)];
            for (std::size_t c = 0; c < count && k.to == v; ++c) {
                sum[c] += rest(to_size(l), to_size(choice_[to_size(k.from)]), c) - least_rest_[to_size(l)];
            }
        }
    } else {
        const split_graph::hanging& h = g_.trees[to_size(g_.tree_of[to_size(v)])];
        const std::size_t others = g_.costs[to_size(h.parent)].size();
        for (std::size_t c = 0; c < count; ++c) {
            sum[c] += h.cells[c * others + to_size(choice_[to_size(h.parent)])];
        }
        const double least = *std::min_element(sum.begin(), sum.end());
        for (double& s : sum) {
            s -= least;
        }
    }
    std::vector<std::pair<double, int>> all;
    for (std::size_t c = 0; c < count; ++c) {
        all.emplace_back(sum[c], static_cast<int>(c));
    }
    return all;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
