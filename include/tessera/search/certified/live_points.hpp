// SPDX-License-Identifier: Apache-2.0
// The times that matter to a limit of memory: of all times only those with a largest set of live nodes, for whoever is
// live at another time is live at one of these too.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/choice_problem.hpp"

namespace tessera::search::detail {

/// A node's use of memory between two points: [first, last) of `live_points::times`.
struct point_range {
    int first = 0;
    int last = 0;

    bool is_empty() const { return first >= last; }
};

struct live_points {
    std::vector<std::int64_t> times;   ///< one of each largest set of live nodes, in order
    std::vector<point_range> of_nodes; ///< for each range that was asked for

    int count() const { return static_cast<int>(times.size()); }
};

/// The points for some live ranges. Sets that are live together are largest just before a range ends, if one has begun
/// since the end before.
live_points make_live_points(std::span<const live_range> ranges);

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/live_points.inl"
#endif

#include "tessera/base/end_header.inl"
