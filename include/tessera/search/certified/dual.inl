// SPDX-License-Identifier: Apache-2.0
// Bodies of dual.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/dual.hpp"

namespace tessera::search::detail {

TESSERA_INLINE dual_ascent::dual_ascent(const reduced_problem& p, const split_graph& g) : p_(p), g_(g) {
    unary_.resize(g.first.back());
    scratch_.resize(2 * g.widest);
    for (const split_graph::link& k : g.links) {
        at_from_.emplace_back(g.costs[to_size(k.from)].size(), 0.0);
        at_to_.emplace_back(g.costs[to_size(k.to)].size(), 0.0);
    }
    for (const int v : g.core) {
        int before = 0, after = 0;
        for (const int k : g.links_of[to_size(v)]) {
            ++(g.links[to_size(k)].from == v ? after : before);
        }
        share_.push_back(1.0 / std::max(1, std::max(before, after)));
    }
    prices.assign(to_size(p.points), 0.0);
    set_prices();
}

TESSERA_INLINE void dual_ascent::set_prices() {
    std::vector<double> sum(to_size(p_.points) + 1, 0.0);
    paid_ = 0;
    for (std::size_t t = 0; t < to_size(p_.points); ++t) {
        sum[t + 1] = sum[t] + prices[t];
        paid_ += prices[t] * static_cast<double>(p_.limit - p_.base[t]);
    }
    for (std::size_t v = 0; v < p_.nodes.size(); ++v) {
        const reduced_node& n = p_.nodes[v];
        const double weight = sum[to_size(n.live.last)] - sum[to_size(n.live.first)];
        for (std::size_t c = 0; c < n.costs.size(); ++c) {
            unary_[g_.first[v] + c] = g_.costs[v][c] + weight * static_cast<double>(n.usages[c]);
        }
    }
    for (const split_graph::hanging& h : g_.trees) {
        g_.lift(h, lifted(h.node), &unary_[g_.first[to_size(h.parent)]], scratch_.data());
    }
}

TESSERA_INLINE double dual_ascent::pass() {
    for (std::size_t i = 0; i < g_.core.size(); ++i) {
        visit(i, true);
    }
    double bound = static_cast<double>(p_.constant) - paid_;
    for (std::size_t i = g_.core.size(); i-- > 0;) {
        bound += visit(i, false);
    }
    return bound;
}

TESSERA_INLINE double dual_ascent::bound_without_messages() const {
    double bound = static_cast<double>(p_.constant) - paid_;
    for (const int v : g_.core) {
        bound += *std::min_element(lifted(v), lifted(v) + g_.costs[to_size(v)].size());
    }
    for (const split_graph::link& k : g_.links) {
        bound += *std::min_element(k.rows.begin(), k.rows.end());
    }
    return bound;
}

TESSERA_INLINE void dual_ascent::decode(std::vector<int>& choice) {
    choice.assign(p_.nodes.size(), 0);
    for (const int v : g_.core) {
        const std::size_t count = g_.costs[to_size(v)].size();
        double* sum = scratch_.data();
        std::copy_n(&unary_[g_.first[to_size(v)]], count, sum);
        for (const int l : g_.links_of[to_size(v)]) {
            const split_graph::link& k = g_.links[to_size(l)];
            const double* add = k.from == v ? at_from_[to_size(l)].data()
                                            : &k.rows[to_size(choice[to_size(k.from)]) * count]; // the other has chosen
            for (std::size_t c = 0; c < count; ++c) {
                sum[c] += add[c];
            }
        }
        choice[to_size(v)] = static_cast<int>(std::min_element(sum, sum + count) - sum);
    }
    decode_trees(choice);
}

TESSERA_INLINE void dual_ascent::decode_at(const std::vector<double>& at_prices, double factor,
                                           std::vector<int>& choice) {
    for (std::size_t t = 0; t < prices.size(); ++t) {
        prices[t] = factor * at_prices[t];
    }
    set_prices();
    for (int i = 0; i < 3; ++i) {
        pass();
    }
    decode(choice);
}

TESSERA_INLINE void dual_ascent::decode_trees(std::vector<int>& choice) const {
    for (std::size_t i = g_.trees.size(); i-- > 0;) {
        const split_graph::hanging& h = g_.trees[i];
        choice[to_size(h.node)] = g_.cheapest(h, lifted(h.node), choice[to_size(h.parent)]);
    }
}

TESSERA_INLINE std::vector<double> dual_ascent::excess(int core_place) const {
    std::vector<double> sum = kept(core_place);
    const double least = *std::min_element(sum.begin(), sum.end());
    for (double& s : sum) {
        s -= least;
    }
    return sum;
}

TESSERA_INLINE double dual_ascent::least(int core_place) const {
    const std::vector<double> sum = kept(core_place);
    return *std::min_element(sum.begin(), sum.end());
}

TESSERA_INLINE std::vector<double> dual_ascent::kept(int core_place) const {
    const int v = g_.core[to_size(core_place)];
    std::vector<double> sum(lifted(v), lifted(v) + g_.costs[to_size(v)].size());
    for (const int l : g_.links_of[to_size(v)]) {
        const std::vector<double>& m = g_.links[to_size(l)].from == v ? at_from_[to_size(l)] : at_to_[to_size(l)];
        for (std::size_t c = 0; c < sum.size(); ++c) {
            sum[c] += m[c];
        }
    }
    return sum;
}

TESSERA_INLINE double dual_ascent::visit(std::size_t place, bool forwards) {
    const int v = g_.core[place];
    const std::size_t count = g_.costs[to_size(v)].size();
    double* sum = scratch_.data();
    double* least = scratch_.data() + g_.widest;
    std::copy_n(&unary_[g_.first[to_size(v)]], count, sum);
    int gives = 0;
    for (const int l : g_.links_of[to_size(v)]) {
        const split_graph::link& k = g_.links[to_size(l)];
        const bool is_from = k.from == v;
        double* mine = is_from ? at_from_[to_size(l)].data() : at_to_[to_size(l)].data();
        if (is_from == forwards) {
            ++gives;
        } else { // collects: mine = min over the other's choices of cell - the other's message
            const std::vector<double>& others = is_from ? at_to_[to_size(l)] : at_from_[to_size(l)];
            const double* cells = is_from ? k.columns.data() : k.rows.data();
            std::fill_n(least, count, HUGE_VAL);
            for (std::size_t d = 0; d < others.size(); ++d) {
                split_graph::lower(least, cells + d * count, -others[d], count);
            }
            std::copy_n(least, count, mine);
        }
        for (std::size_t c = 0; c < count; ++c) {
            sum[c] += mine[c];
        }
    }
    const double share = share_[place];
    if (gives > 0) {
        for (const int l : g_.links_of[to_size(v)]) {
            const bool is_from = g_.links[to_size(l)].from == v;
            if (is_from == forwards) {
                double* mine = is_from ? at_from_[to_size(l)].data() : at_to_[to_size(l)].data();
                for (std::size_t c = 0; c < count; ++c) {
                    mine[c] -= share * sum[c];
                }
            }
        }
    }
    return (1.0 - share * gives) * *std::min_element(sum, sum + count);
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
