// SPDX-License-Identifier: Apache-2.0
// What searches for placements share: what they return, and how they weigh a placement that does not fit.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/evaluate.hpp"
#include "tessera/search/placement/groups.hpp"

namespace tessera::search::placement {

/// A placement that a search has found, with its price.
struct found {
    assignment where{};
    index_t step = 0;         ///< ns
    index_t excess_bytes = 0; ///< beyond the devices' memory; 0: it is feasible
    std::int64_t evaluations = 0;
    bool feasible() const { return excess_bytes == 0; }
    /// The smaller excess is better, so that whatever fits is better than whatever does not; then the shorter step.
    bool better_than(const found& other) const;
};

/// A placement with its price, which took one evaluation.
found priced(evaluator& e, assignment where);

/// ns of a node's two tasks on the first device, or on the first kind of device that runs them.
double work_of(const evaluator& e, int node);

namespace detail {

/// What a local search compares: the step, made longer by what does not fit, up to ten times for all memory of one
/// device.
class weighed_price {
public:
    explicit weighed_price(const evaluator& e);
    double operator()(const found& f) const;

private:
    index_t memory_ = 1;
};

/// A graph of groups with their work in ns (on the first kind of device that runs them) and the bytes between them,
/// either way.
struct group_work {
    std::vector<double> work;
    std::vector<std::vector<int>> members; ///< nodes, in topological order
};

group_work work_of(const evaluator& e, const grouping& groups);

} // namespace detail

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/found.inl"
#endif

#include "tessera/base/end_header.inl"
