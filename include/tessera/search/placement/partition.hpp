// SPDX-License-Identifier: Apache-2.0
// Graphs cut into parts of about equal weight with little cut between them: multilevel, as METIS does it (Karypis and
// Kumar 1998). Heavy-edge matching makes the graph smaller, greedy growing cuts the smallest one, and moves of Fiduccia
// and Mattheyses refine the cut on the way back.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/random_numbers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::search::placement {

/// An undirected graph; every edge stands with both of its ends.
struct weighted_graph {
    std::vector<double> weight;
    std::vector<std::vector<std::pair<int, double>>> near; ///< neighbours, each once, and the weights of the edges

    int count() const { return static_cast<int>(weight.size()); }
    /// Joins two nodes, or adds to the weight of what joins them.
    void join(int a, int b, double w);
};

struct partition_options {
    double imbalance = 0.05; ///< a part may weigh so much more than its share
    int passes = 8;          ///< of refinement, at every level
    std::uint64_t seed = 1;
};

/// The weight of edges between parts.
double cut_weight(const weighted_graph& g, const std::vector<int>& part);

namespace detail {

class multilevel_cut {
public:
    multilevel_cut(int parts, const partition_options& o) : parts_(parts), options_(o), pick_{o.seed} {}

    std::vector<int> cut(const weighted_graph& g);

private:
    /// Every node with the neighbour that is free and joined to it the most; in an order at random.
    int match(const weighted_graph& g, std::vector<int>& coarse_of);

    static weighted_graph contracted(const weighted_graph& g, const std::vector<int>& coarse_of, int count);

    /// Parts grow one after the other around a node at random, by what is joined to them the most; the best of some
    /// tries.
    std::vector<int> grow(const weighted_graph& g);

    /// Passes of moves: the best that there is, each node once, also where it makes the cut worse; then back to the
    /// best cut of the pass.
    void refine(const weighted_graph& g, std::vector<int>& part) const;

    struct one_move {
        int node = -1;
        int to = 0;
        double gain = 0;
    };
    /// What makes the cut least, or, where a part is too heavy, least for what leaves it.
    one_move best_move(const weighted_graph& g, const std::vector<int>& part, const std::vector<double>& weight,
                       const std::vector<char>& moved, double limit) const;

    int parts_ = 1;
    partition_options options_;
    random_numbers pick_;
};

} // namespace detail

/// The part of every node, 0 to parts-1. The same graph and options give the same parts.
std::vector<int> partition(const weighted_graph& g, int parts, const partition_options& o = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/partition.inl"
#endif

#include "tessera/base/end_header.inl"
