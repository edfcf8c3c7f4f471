// SPDX-License-Identifier: Apache-2.0
// A lower bound by dual ascent: a price on memory at every point of time (Lagrange multipliers), and for given prices
// sequential reweighted message passing between the nodes of the core (TRW-S, Kolmogorov 2006; in the form of SRMP,
// Kolmogorov 2015), trees solved exactly. Every set of prices and messages gives a valid bound, so that rounding costs
// nothing but a little of its quality; `certify` computes it in whole numbers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/split_graph.hpp"

#include <cmath>

namespace tessera::search::detail {

class dual_ascent {
public:
    dual_ascent(const reduced_problem& p, const split_graph& g);

    std::vector<double> prices; ///< of a unit of memory at each point, at least 0; after a change call set_prices()

    /// Takes the prices over into the costs of nodes, and from the leaves of the trees to their roots.
    void set_prices();

    /// One pass over the core forwards and one backwards. Returns the bound, which is correct up to rounding.
    double pass();

    /// The bound with every link's least cost by itself, as without the ascent over messages.
    double bound_without_messages() const;

    /// A choice by the messages: node after node the cheapest one given those before it and the messages of those after
    /// it. It need be neither allowed nor within the limit.
    void decode(std::vector<int>& choice);

    /// A choice by the messages after a few passes with all prices times a factor.
    void decode_at(const std::vector<double>& at_prices, double factor, std::vector<int>& choice);

    /// The cheapest choices of the trees, given the core's.
    void decode_trees(std::vector<int>& choice) const;

    /// What each choice of a node of the core costs above its cheapest, by the messages: with the bound it is at most
    /// what a whole choice with it costs.
    std::vector<double> excess(int core_place) const;
    /// The least of what a node of the core keeps.
    double least(int core_place) const;

    /// What a link between two nodes of the core has given to its nodes.
    const std::vector<double>& given_to_from(std::size_t link) const { return at_from_[link]; }
    const std::vector<double>& given_to_to(std::size_t link) const { return at_to_[link]; }
    /// Prices times what the limit leaves at each point: a bound has to give it back.
    double paid() const { return paid_; }
    /// Costs of a node with prices and with the trees below it.
    const double* lifted(int node) const { return &unary_[g_.first[to_size(node)]]; }

private:
    std::vector<double> kept(int core_place) const;

    /// Collects from the edges on one side, then gives to those on the other. Returns what the node's cheapest choice
    /// keeps.
    double visit(std::size_t place, bool forwards);

    const reduced_problem& p_;
    const split_graph& g_;
    std::vector<double> unary_; ///< costs with prices, and with what the trees below cost
    std::vector<double> scratch_;
    std::vector<std::vector<double>> at_from_, at_to_; ///< what each link has given to its nodes
    std::vector<double> share_;                        ///< of a core node's costs that one link is given
    double paid_ = 0;                                  ///< prices times what the limit leaves
};

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/dual.inl"
#endif

#include "tessera/base/end_header.inl"
