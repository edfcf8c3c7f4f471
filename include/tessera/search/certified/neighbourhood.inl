// SPDX-License-Identifier: Apache-2.0
// Bodies of neighbourhood.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/neighbourhood.hpp"

namespace tessera::search::detail {

TESSERA_INLINE neighbourhood::neighbourhood(const reduced_problem& p, const split_graph& g)
    : p_(p), g_(g), below_(p.nodes.size()), place_(p.nodes.size(), -1) {
    for (std::size_t t = g.trees.size(); t-- > 0;) { // parents before children; turned around below
        const int parent = g.trees[t].parent;
        root_.resize(p.nodes.size(), -1);
        root_[to_size(g.trees[t].node)] = g.tree_of[to_size(parent)] < 0 ? parent : root_[to_size(parent)];
    }
    for (std::size_t t = 0; t < g.trees.size(); ++t) {
        below_[to_size(root_[to_size(g.trees[t].node)])].push_back(static_cast<int>(t));
    }
    unary_.resize(g.first.back());
    line_.resize(g.widest);
}

TESSERA_INLINE void neighbourhood::choose(const std::vector<int>& core_nodes, double most_cells) {
    for (const int v : free_) {
        place_[to_size(v)] = -1;
    }
    free_.clear();
    steps_.clear();
    std::vector<std::vector<int>> near = neighbours_of(core_nodes);
    remove_by_table(core_nodes, near, most_cells);
    place_steps(core_nodes);
    prepare();
}

TESSERA_INLINE std::vector<std::vector<int>> neighbourhood::neighbours_of(const std::vector<int>& core_nodes) {
    std::vector<std::vector<int>> near(core_nodes.size());
    for (std::size_t i = 0; i < core_nodes.size(); ++i) {
        place_[to_size(core_nodes[i])] = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < core_nodes.size(); ++i) {
        for (const int l : g_.links_of[to_size(core_nodes[i])]) {
            const split_graph::link& k = g_.links[to_size(l)];
            const int other = k.from == core_nodes[i] ? k.to : k.from;
            if (place_[to_size(other)] >= 0) {
                near[i].push_back(place_[to_size(other)]);
            }
        }
        std::sort(near[i].begin(), near[i].end());
    }
    return near;
}

TESSERA_INLINE void neighbourhood::remove_by_table(const std::vector<int>& core_nodes,
                                                   std::vector<std::vector<int>>& near, double most_cells) {
    const auto cells = [&](int i) {
        double size = static_cast<double>(g_.costs[to_size(core_nodes[to_size(i)])].size());
        for (const int j : near[to_size(i)]) {
            size *= static_cast<double>(g_.costs[to_size(core_nodes[to_size(j)])].size());
        }
        return size;
    };
    using entry = std::pair<double, int>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
    std::vector<double> known(core_nodes.size());
    for (int i = 0; i < static_cast<int>(core_nodes.size()); ++i) {
        known[to_size(i)] = cells(i);
        next.push({known[to_size(i)], i});
    }
    std::vector<char> gone(core_nodes.size(), 0);
    const auto erase = [](std::vector<int>& from, int what) {
        const auto found = std::lower_bound(from.begin(), from.end(), what);
        if (found != from.end() && *found == what) {
            from.erase(found);
        }
    };
    while (!next.empty()) {
        const auto [size, i] = next.top();
        next.pop();
        if (gone[to_size(i)] != 0 || size != known[to_size(i)]) {
            continue;
        }
        gone[to_size(i)] = 1;
        const std::vector<int> around = near[to_size(i)];
        const bool held = size > most_cells;
        for (const int j : around) {
            erase(near[to_size(j)], i);
            for (const int k : around) {
                if (!held && k != j && !std::binary_search(near[to_size(j)].begin(), near[to_size(j)].end(), k)) {
                    near[to_size(j)].insert(std::lower_bound(near[to_size(j)].begin(), near[to_size(j)].end(), k), k);
                }
            }
        }
        for (const int j : around) {
            known[to_size(j)] = cells(j);
            next.push({known[to_size(j)], j});
        }
        if (!held) {
            steps_.push_back({core_nodes[to_size(i)], around, {}, 0});
        }
    }
}

/// The order of the steps, and their scopes by nodes.
TESSERA_INLINE void neighbourhood::place_steps(const std::vector<int>& core_nodes) {
    for (const int v : core_nodes) {
        place_[to_size(v)] = -1;
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
        free_.push_back(steps_[s].node);
        place_[to_size(steps_[s].node)] = static_cast<int>(s);
    }
    // Scopes by nodes: those that are still free, the one that is removed next last, so that its choices vary
    // fastest.
    for (step& s : steps_) {
        std::vector<int> scope;
        for (const int j : s.scope) {
            if (place_[to_size(core_nodes[to_size(j)])] >= 0) {
                scope.push_back(core_nodes[to_size(j)]);
            }
        }
        std::sort(scope.begin(), scope.end(), [&](int a, int b) { return place_[to_size(a)] > place_[to_size(b)]; });
        s.scope = std::move(scope);
    }
}

TESSERA_INLINE void neighbourhood::prepare() {
    work_ = 0;
    std::size_t size = 0;
    for (const int v : free_) {
        for (const int l : g_.links_of[to_size(v)]) {
            const split_graph::link& k = g_.links[to_size(l)];
            const int other = k.from == v ? k.to : k.from;
            if (place_[to_size(other)] > place_[to_size(v)]) { // v is removed first
                steps_[to_size(place_[to_size(v)])].factors.push_back(
                    {{{v, count(other)}, {other, 1}}, k.from == v ? k.rows.data() : k.columns.data(), 0});
            }
        }
        for (const int t : below_[to_size(v)]) {
            work_ += static_cast<std::int64_t>(g_.trees[to_size(t)].cells.size());
        }
    }
    for (step& s : steps_) {
        s.made = size;
        factor result{{}, nullptr, size};
        std::size_t stride = 1;
        for (std::size_t i = s.scope.size(); i-- > 0;) {
            result.strides.emplace_back(s.scope[i], stride);
            stride *= count(s.scope[i]);
        }
        size += stride;
        work_ += static_cast<std::int64_t>(stride * count(s.node) * (1 + s.factors.size()));
        if (!s.scope.empty()) { // goes to the one that is removed next
            steps_[to_size(place_[to_size(s.scope.back())])].factors.push_back(std::move(result));
        }
    }
    made_.resize(std::max(made_.size(), size));
}

TESSERA_INLINE std::size_t neighbourhood::stride_of(const factor& f, int node) {
    for (const auto& [n, stride] : f.strides) {
        if (n == node) {
            return stride;
        }
    }
    return 0;
}

TESSERA_INLINE void neighbourhood::eliminate(const step& s) {
    const double* unary = &unary_[g_.first[to_size(s.node)]];
    const std::size_t mine = count(s.node), factors = s.factors.size();
    const std::size_t line = s.scope.empty() ? 1 : count(s.scope.back());
    double* out = made_.data() + s.made;
    const std::size_t outer = s.scope.empty() ? 0 : s.scope.size() - 1;
    base_.assign(factors, 0);
    own_.resize(factors);
    along_.resize(factors);
    for (std::size_t f = 0; f < factors; ++f) {
        own_[f] = stride_of(s.factors[f], s.node);
        along_[f] = s.scope.empty() ? 0 : stride_of(s.factors[f], s.scope.back());
    }
    digits_.assign(outer, 0);
    steps_along_.resize(outer * factors);
    for (std::size_t d = 0; d < outer; ++d) {
        for (std::size_t f = 0; f < factors; ++f) {
            steps_along_[d * factors + f] = stride_of(s.factors[f], s.scope[d]);
        }
    }
    for (;;) {
        std::fill_n(out, line, HUGE_VAL);
        for (std::size_t a = 0; a < mine; ++a) {
            double plain = unary[a];
            const double* vary[4] = {};
            std::size_t varying = 0;
            bool simple = true;
            for (std::size_t f = 0; f < factors; ++f) {
                const double* from = cells(s.factors[f]) + base_[f] + a * own_[f];
                if (along_[f] == 0) {
                    plain += *from;
                } else if (along_[f] == 1 && varying < 4) {
                    vary[varying++] = from;
                } else {
                    simple = false;
                }
            }
            if (!simple) {
                add_general(s, a, unary[a], out, line);
            } else if (varying == 1) {
                split_graph::lower(out, vary[0], plain, line);
            } else {
                std::fill_n(line_.begin(), line, plain);
                for (std::size_t i = 0; i < varying; ++i) {
                    const double* x = vary[i];
                    for (std::size_t b = 0; b < line; ++b) {
                        line_[b] += x[b];
                    }
                }
                split_graph::lower(out, line_.data(), 0, line);
            }
        }
        out += line;
        std::size_t d = outer;
        while (d > 0) { // the next line
            --d;
            if (++digits_[d] < count(s.scope[d])) {
                for (std::size_t f = 0; f < factors; ++f) {
                    base_[f] += steps_along_[d * factors + f];
                }
                break;
            }
            for (std::size_t f = 0; f < factors; ++f) {
                base_[f] -= steps_along_[d * factors + f] * (digits_[d] - 1);
            }
            digits_[d] = 0;
            if (d == 0) {
                return;
            }
        }
        if (outer == 0) {
            return;
        }
    }
}

TESSERA_INLINE void neighbourhood::add_general(const step& s, std::size_t a, double unary, double* out,
                                               std::size_t line) const {
    for (std::size_t b = 0; b < line; ++b) {
        double sum = unary;
        for (std::size_t f = 0; f < s.factors.size(); ++f) {
            sum += cells(s.factors[f])[base_[f] + a * own_[f] + b * along_[f]];
        }
        out[b] = sum < out[b] ? sum : out[b];
    }
}

TESSERA_INLINE int neighbourhood::cheapest(const step& s, const std::vector<int>& choice) const {
    int best = 0;
    double least = HUGE_VAL;
    for (std::size_t a = 0; a < count(s.node); ++a) {
        double sum = unary_[g_.first[to_size(s.node)] + a];
        for (const factor& f : s.factors) {
            std::size_t cell = 0;
            for (const auto& [node, stride] : f.strides) {
                cell += stride * (node == s.node ? a : to_size(choice[to_size(node)]));
            }
            sum += cells(f)[cell];
        }
        if (sum < least) {
            least = sum;
            best = static_cast<int>(a);
        }
    }
    return best;
}

TESSERA_INLINE void neighbourhood::price(int v, double weight) {
    double* mine = &unary_[g_.first[to_size(v)]];
    const reduced_node& n = p_.nodes[to_size(v)];
    for (std::size_t c = 0; c < n.costs.size(); ++c) {
        mine[c] = g_.costs[to_size(v)][c] + weight * static_cast<double>(n.usages[c]);
    }
}

TESSERA_INLINE void neighbourhood::drop(int v, std::vector<int>& choice) const {
    const std::vector<int>& trees = below_[to_size(v)];
    for (std::size_t i = trees.size(); i-- > 0;) {
        const split_graph::hanging& h = g_.trees[to_size(trees[i])];
        choice[to_size(h.node)] = g_.cheapest(h, &unary_[g_.first[to_size(h.node)]], choice[to_size(h.parent)]);
    }
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
