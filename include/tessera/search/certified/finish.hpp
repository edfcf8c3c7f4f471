// SPDX-License-Identifier: Apache-2.0
// The exact finish: depth-first branch and bound over all choices that the dual's costs leave below the best known one,
// within a limit of steps.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/assignment.hpp"
#include "tessera/search/certified/dual.hpp"

namespace tessera::search::detail {

class exact_finish {
public:
    exact_finish(const reduced_problem& p, const split_graph& g, const edge_lists& edges, const dual_ascent& d);

    /// Goes through what can cost less than `best` (in the reduced problem's cost, with its constant). Returns true
    /// when it has seen all; `found` is then the cheapest, if any costs less.
    bool run(std::int64_t best, std::int64_t most_steps, std::vector<int>& found);

private:
    static std::vector<std::int64_t> least_usages(const reduced_problem& p);

    /// What a link's cell has kept of its cost.
    double rest(std::size_t l, std::size_t a, std::size_t b) const;

    bool descend(std::size_t depth, double bound);

    /// What each choice adds to the bound, given those before it.
    std::vector<std::pair<double, int>> extra(std::size_t depth, int v) const;

    const reduced_problem& p_;
    const split_graph& g_;
    const edge_lists& edges_;
    const dual_ascent& d_;
    std::vector<std::int64_t> least_; ///< usages of every node
    usage_tree used_;                 ///< by the choices so far, and the least of the others
    std::vector<int> order_, choice_;
    std::vector<int>* found_ = nullptr;
    std::vector<double> least_rest_;
    std::int64_t best_ = 0, steps_ = 0;
    double slack_ = 0;
};

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/finish.inl"
#endif

#include "tessera/base/end_header.inl"
