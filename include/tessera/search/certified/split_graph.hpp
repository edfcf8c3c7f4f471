// SPDX-License-Identifier: Apache-2.0
// A reduced problem cut into trees that hang on a core: trees are solved exactly by one pass of messages, whatever the
// prices of memory are, so that only the core is left to the dual ascent and to searches.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/reduced.hpp"

#include <cmath>

namespace tessera::search::detail {

/// Tables in double precision for the many passes; whatever is decided by them is checked with the whole numbers.
struct split_graph {
    struct hanging {
        int node = 0;
        int parent = 0;
        std::vector<double> cells; ///< a row for each choice of the node, the parent's choices in it
    };
    struct link {
        int from = 0, to = 0;        ///< from < to
        std::vector<double> rows;    ///< a row for each choice of `from`
        std::vector<double> columns; ///< a row for each choice of `to`
    };

    std::vector<std::vector<double>> costs; ///< of each node's choices
    std::vector<hanging> trees;             ///< children before their parents
    std::vector<int> core;                  ///< nodes of the core, and roots of trees that hang on nothing, in order
    std::vector<int> tree_of;               ///< for each node its place in `trees`, or -1
    std::vector<link> links;                ///< between nodes of the core
    std::vector<std::vector<int>> links_of; ///< of each node
    std::vector<std::size_t> first;         ///< of each node's choices where those of all stand in a row; and their end
    std::size_t widest = 0;                 ///< most choices of a node
    double all = 0;                         ///< what costs of all nodes and edges differ by, at most
    double high = 0; ///< what stands for `forbidden`: more than any allowed choice of all costs, or 2^47

    std::size_t count(int node) const { return costs[to_size(node)].size(); }

    /// Adds to the costs of the parent's choices what the node costs at least with each. `row` has room for the widest
    /// node.
    void lift(const hanging& h, const double* node, double* parent, double* row) const;
    /// The cheapest choice of the node, given its parent's.
    int cheapest(const hanging& h, const double* node, int parent_choice) const;

    /// to[b] = min(to[b], add + row[b])
    static void lower(double* to, const double* row, double add, std::size_t count);
};

/// A whole number as a double that is no larger, so that what bounds it from below stays a bound.
double at_most(std::int64_t x);

class split_graph_maker {
public:
    explicit split_graph_maker(const reduced_problem& p) : p_(p) {}
    split_graph made();

private:
    void bound_costs(); ///< `all` and `high`
    void add_costs();
    void hang_leaves();
    void hang(int edge, int leaf, int parent);
    void link_core();
    void link(const reduced_edge& edge);
    double value(std::int64_t cost) const { return cost < forbidden ? at_most(cost) : g_.high; }

    const reduced_problem& p_;
    split_graph g_;
    std::vector<char> used_; ///< edges that hang a node on its parent
};

/// Cuts a problem.
inline split_graph make_split_graph(const reduced_problem& p) { return split_graph_maker(p).made(); }

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/split_graph.inl"
#endif

#include "tessera/base/end_header.inl"
