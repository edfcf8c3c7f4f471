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
    neighbourhood(const reduced_problem& p, const split_graph& g);

    /// The node of the core on whose trees a node is; itself for one of the core.
    int root(int node) const { return g_.tree_of[to_size(node)] < 0 ? node : root_[to_size(node)]; }
    /// Nodes of the trees that hang on a node of the core, as places in split_graph::trees.
    const std::vector<int>& below(int core_node) const { return below_[to_size(core_node)]; }

    /// Frees these nodes of the core, as many as tables of at most so many cells allow; nodes are removed by smallest
    /// table.
    void choose(const std::vector<int>& core_nodes, double most_cells);

    const std::vector<int>& free_nodes() const { return free_; } ///< of the core
    std::int64_t work() const { return work_; }                  ///< cells that a call of solve() computes

    /// The cheapest choices of the free nodes and of the trees on them, `weight(node)` being what a unit of its usage
    /// costs; all else has `choice`, which takes the result over.
    template <class Weight>
    void solve(std::vector<int>& choice, const Weight& weight) {
        for (const int v : free_) {
            lift(v, weight);
            double* mine = &unary_[g_.first[to_size(v)]];
            const std::size_t count = g_.costs[to_size(v)].size();
            for (const int l : g_.links_of[to_size(v)]) {
                const split_graph::link& k = g_.links[to_size(l)];
                const int other = k.from == v ? k.to : k.from;
                if (place_[to_size(other)] < 0) { // stands still
                    const double* row =
                        (k.from == v ? k.columns.data() : k.rows.data()) + to_size(choice[to_size(other)]) * count;
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
            choice[to_size(steps_[s].node)] = cheapest(steps_[s], choice);
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

    /// Of each of the core's nodes given, which others of them are next to it, by place; `place_` has their places.
    std::vector<std::vector<int>> neighbours_of(const std::vector<int>& core_nodes);
    /// Removes nodes by smallest table, whose neighbours then are next to each other; adds a step for each, with places
    /// as its scope, but for those whose table has more cells than that.
    void remove_by_table(const std::vector<int>& core_nodes, std::vector<std::vector<int>>& near, double most_cells);
    void place_steps(const std::vector<int>& core_nodes);
    void prepare();

    const double* cells(const factor& f) const { return f.fixed != nullptr ? f.fixed : made_.data() + f.made; }

    static std::size_t stride_of(const factor& f, int node);

    void eliminate(const step& s);

    void add_general(const step& s, std::size_t a, double unary, double* out, std::size_t line) const;

    int cheapest(const step& s, const std::vector<int>& choice) const;

    /// Costs of a free node and of the trees on it, from the leaves up.
    template <class Weight>
    void lift(int v, const Weight& weight) {
        price(v, weight(v));
        for (const int t : below_[to_size(v)]) {
            price(g_.trees[to_size(t)].node, weight(g_.trees[to_size(t)].node));
        }
        for (const int t : below_[to_size(v)]) {
            const split_graph::hanging& h = g_.trees[to_size(t)];
            g_.lift(h, &unary_[g_.first[to_size(h.node)]], &unary_[g_.first[to_size(h.parent)]], line_.data());
        }
    }

    void price(int v, double weight);

    /// The choices of the trees on a node, from its own down.
    void drop(int v, std::vector<int>& choice) const;

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

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/neighbourhood.inl"
#endif

#include "tessera/base/end_header.inl"
