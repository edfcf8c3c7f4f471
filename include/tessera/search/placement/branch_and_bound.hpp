// SPDX-License-Identifier: Apache-2.0
// The best of all placements of a small graph, exactly: branch and bound over its groups in topological order.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

namespace tessera::search::placement {

struct exact_options {
    std::int64_t most_visits = 5'000'000; ///< of partial placements
    found start; ///< a placement to be better than, such as annealing's; none where it is empty
};

struct exact_found {
    found best;          ///< `where` is empty where no placement fits
    bool proved = false; ///< nothing that fits is better
    std::int64_t visits = 0;
};

namespace detail {

/// No order of tasks and transfers makes a step shorter than the longest way through them, nor than the work of any
/// device.
class placement_bounds {
public:
    explicit placement_bounds(evaluator& e);

    /// Of all placements that agree with this one; devices that are not decided are -1.
    index_t step(const assignment& where);

private:
    task_time time(const assignment& where, int v) const;
    index_t apart(const assignment& where, const cost_edge& x, bool back) const;

    evaluator& e_;
    std::vector<task_time> least_;
    std::vector<index_t> end_, back_;
};

} // namespace detail

/// Tries all devices for one group after the other, the most promising first, and leaves what cannot be better than the
/// best so far: its bound is as long, or what the nodes of a device hold does not fit. Stops after most_visits, and has
/// then proved nothing. Devices that look alike are not taken for one another, for ties between transfers fall by
/// number.
exact_found best_of_all(evaluator& e, const exact_options& o = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/branch_and_bound.inl"
#endif

#include "tessera/base/end_header.inl"
