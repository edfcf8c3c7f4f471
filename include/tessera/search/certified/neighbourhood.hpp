// SPDX-License-Identifier: Apache-2.0
// A part of the core, with the trees that hang on it, solved exactly for given prices of memory while all else stays as
// it is: by variable elimination, with nodes held fast where a table would become too large. It is the neighbourhood of
// the large steps of the search.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/split_graph.hpp"

#include <queue>

namespace tessera::search::detail {

class neighbourhood {
public:
    neighbourhood(const reduced_problem& p, const split_graph& g)
        : p_(p), g_(g), below_(p.nodes.size()), place_(p.nodes.size(), -1) {
        for (std::size_t t = g.trees.size(); t-- > 0;) { // parents before children; turned around below
            const int parent = g.trees[t].parent;
            root_.resize(p.nodes.size(), -1);
            root_[at(g.trees[t].node)] = g.tree_of[at(parent)] < 0 ? parent : root_[at(parent)];
        }
        for (std::size_t t = 0; t < g.trees.size(); ++t) {
            below_[at(root_[at(g.trees[t].node)])].push_back(static_cast<int>(t));
        }
        unary_.resize(g.first.back());
        line_.resize(g.widest);
    }

    /// The node of the core on whose trees a node is; itself for one of the core.
    int root(int node) const { return g_.tree_of[at(node)] < 0 ? node : root_[at(node)]; }
    /// Nodes of the trees that hang on a node of the core, as places in split_graph::trees.
    const std::vector<int>& below(int core_node) const { return below_[at(core_node)]; }

    /// Frees these nodes of the core, as many as tables of at most so many cells allow; nodes are removed by smallest
    /// table.
    void choose(const std::vector<int>& core_nodes, double most_cells) {
        for (const int v : free_) {
            place_[at(v)] = -1;
        }
        free_.clear();
        steps_.clear();
        std::vector<std::vector<int>> near(core_nodes.size());
        for (std::size_t i = 0; i < core_nodes.size(); ++i) {
            place_[at(core_nodes[i])] = static_cast<int>(i);
        }
        for (std::size_t i = 0; i < core_nodes.size(); ++i) {
            for (const int l : g_.links_of[at(core_nodes[i])]) {
                const split_graph::link& k = g_.links[at(l)];
                const int other = k.from == core_nodes[i] ? k.to : k.from;
                if (place_[at(other)] >= 0) {
                    near[i].push_back(place_[at(other)]);
                }
            }
            std::sort(near[i].begin(), near[i].end());
        }
        const auto cells = [&](int i) {
            double size = static_cast<double>(g_.costs[at(core_nodes[at(i)])].size());
            for (const int j : near[at(i)]) {
                size *= static_cast<double>(g_.costs[at(core_nodes[at(j)])].size());
            }
            return size;
        };
        using entry = std::pair<double, int>;
        std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
        std::vector<double> known(core_nodes.size());
        for (int i = 0; i < static_cast<int>(core_nodes.size()); ++i) {
            known[at(i)] = cells(i);
            next.push({known[at(i)], i});
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
            if (gone[at(i)] != 0 || size != known[at(i)]) {
                continue;
            }
            gone[at(i)] = 1;
            const std::vector<int> around = near[at(i)];
            const bool held = size > most_cells;
            for (const int j : around) {
                erase(near[at(j)], i);
                for (const int k : around) {
                    if (!held && k != j && !std::binary_search(near[at(j)].begin(), near[at(j)].end(), k)) {
                        near[at(j)].insert(std::lower_bound(near[at(j)].begin(), near[at(j)].end(), k), k);
                    }
                }
            }
            for (const int j : around) {
                known[at(j)] = cells(j);
                next.push({known[at(j)], j});
            }
            if (!held) {
                steps_.push_back({core_nodes[at(i)], around, {}, 0});
            }
        }
        for (const int v : core_nodes) {
            place_[at(v)] = -1;
        }
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            free_.push_back(steps_[s].node);
            place_[at(steps_[s].node)] = static_cast<int>(s);
        }
        // Scopes by nodes: those that are still free, the one that is removed next last, so that its choices vary
        // fastest.
        for (step& s : steps_) {
            std::vector<int> scope;
            for (const int j : s.scope) {
                if (place_[at(core_nodes[at(j)])] >= 0) {
                    scope.push_back(core_nodes[at(j)]);
                }
            }
            std::sort(scope.begin(), scope.end(), [&](int a, int b) { return place_[at(a)] > place_[at(b)]; });
            s.scope = std::move(scope);
        }
        prepare();
    }

    const std::vector<int>& free_nodes() const { return free_; } ///< of the core
    std::int64_t work() const { return work_; }                  ///< cells that a call of solve() computes

    /// The cheapest choices of the free nodes and of the trees on them, `weight(node)` being what a unit of its usage
    /// costs; all else has `choice`, which takes the result over.
    template <class Weight>
    void solve(std::vector<int>& choice, const Weight& weight) {
        for (const int v : free_) {
            lift(v, weight);
            double* mine = &unary_[g_.first[at(v)]];
            const std::size_t count = g_.costs[at(v)].size();
            for (const int l : g_.links_of[at(v)]) {
                const split_graph::link& k = g_.links[at(l)];
                const int other = k.from == v ? k.to : k.from;
                if (place_[at(other)] < 0) { // stands still
                    const double* row =
                        (k.from == v ? k.columns.data() : k.rows.data()) + at(choice[at(other)]) * count;
                    for (std::size_t c = 0; c < count; ++c) {
                        mine[c] += row[c];
                    }
                }
            }
        }
        for (const step& s : steps_) {
            eliminate(s);
        }
        for (std::size_t s = steps_.size(); s-- > 0;) {
            choice[at(steps_[s].node)] = cheapest(steps_[s], choice);
        }
        for (const int v : free_) {
            drop(v, choice);
        }
    }

private:
    /// A table over some nodes: the cell of their choices is the sum of choice x stride.
    struct factor {
        std::vector<std::pair<int, std::size_t>> strides; ///< (node, stride)
        const double* fixed = nullptr;                    ///< a link's cells
        std::size_t made = 0;                             ///< else where they are among `made_`
    };
    struct step {
        int node = 0;
        std::vector<int> scope;        ///< free nodes that are removed later; the last one's choices vary fastest
        std::vector<factor> factors{}; ///< that have the node
        std::size_t made = 0;          ///< the table over the scope
    };

    std::size_t count(int node) const { return g_.count(node); }

    void prepare() {
        work_ = 0;
        std::size_t size = 0;
        for (const int v : free_) {
            for (const int l : g_.links_of[at(v)]) {
                const split_graph::link& k = g_.links[at(l)];
                const int other = k.from == v ? k.to : k.from;
                if (place_[at(other)] > place_[at(v)]) { // v is removed first
                    steps_[at(place_[at(v)])].factors.push_back(
                        {{{v, count(other)}, {other, 1}}, k.from == v ? k.rows.data() : k.columns.data(), 0});
                }
            }
            for (const int t : below_[at(v)]) {
                work_ += static_cast<std::int64_t>(g_.trees[at(t)].cells.size());
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
                steps_[at(place_[at(s.scope.back())])].factors.push_back(std::move(result));
            }
        }
        made_.resize(std::max(made_.size(), size));
    }

    const double* cells(const factor& f) const { return f.fixed != nullptr ? f.fixed : made_.data() + f.made; }

    static std::size_t stride_of(const factor& f, int node) {
        for (const auto& [n, stride] : f.strides) {
            if (n == node) {
                return stride;
            }
        }
        return 0;
    }

    void eliminate(const step& s) {
        const double* unary = &unary_[g_.first[at(s.node)]];
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

    void add_general(const step& s, std::size_t a, double unary, double* out, std::size_t line) const {
        for (std::size_t b = 0; b < line; ++b) {
            double sum = unary;
            for (std::size_t f = 0; f < s.factors.size(); ++f) {
                sum += cells(s.factors[f])[base_[f] + a * own_[f] + b * along_[f]];
            }
            out[b] = sum < out[b] ? sum : out[b];
        }
    }

    int cheapest(const step& s, const std::vector<int>& choice) const {
        int best = 0;
        double least = HUGE_VAL;
        for (std::size_t a = 0; a < count(s.node); ++a) {
            double sum = unary_[g_.first[at(s.node)] + a];
            for (const factor& f : s.factors) {
                std::size_t cell = 0;
                for (const auto& [node, stride] : f.strides) {
                    cell += stride * (node == s.node ? a : at(choice[at(node)]));
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

    /// Costs of a free node and of the trees on it, from the leaves up.
    template <class Weight>
    void lift(int v, const Weight& weight) {
        price(v, weight(v));
        for (const int t : below_[at(v)]) {
            price(g_.trees[at(t)].node, weight(g_.trees[at(t)].node));
        }
        for (const int t : below_[at(v)]) {
            const split_graph::hanging& h = g_.trees[at(t)];
            g_.lift(h, &unary_[g_.first[at(h.node)]], &unary_[g_.first[at(h.parent)]], line_.data());
        }
    }

    void price(int v, double weight) {
        double* mine = &unary_[g_.first[at(v)]];
        const reduced_node& n = p_.nodes[at(v)];
        for (std::size_t c = 0; c < n.costs.size(); ++c) {
            mine[c] = g_.costs[at(v)][c] + weight * static_cast<double>(n.usages[c]);
        }
    }

    /// The choices of the trees on a node, from its own down.
    void drop(int v, std::vector<int>& choice) const {
        const std::vector<int>& trees = below_[at(v)];
        for (std::size_t i = trees.size(); i-- > 0;) {
            const split_graph::hanging& h = g_.trees[at(trees[i])];
            choice[at(h.node)] = g_.cheapest(h, &unary_[g_.first[at(h.node)]], choice[at(h.parent)]);
        }
    }

    const reduced_problem& p_;
    const split_graph& g_;
    std::vector<std::vector<int>> below_;
    std::vector<int> root_;
    std::vector<double> unary_, line_, made_;
    std::vector<int> free_,
        place_; ///< free nodes of the core by the order in which they are removed; their places, or -1
    std::vector<step> steps_;
    std::vector<std::size_t> base_, own_, along_, digits_, steps_along_;
    std::int64_t work_ = 0;
};

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
