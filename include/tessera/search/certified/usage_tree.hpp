// SPDX-License-Identifier: Apache-2.0
// Sums of usages over time: adds to a range of points and finds the largest sum, each in the logarithm of the number of
// points.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/live_points.hpp"

namespace tessera::search::detail {

class usage_tree {
public:
    /// `sums`: at each point.
    explicit usage_tree(const std::vector<std::int64_t>& sums);

    int points() const { return points_; }

    /// Adds to every point of [r.first, r.last).
    void add(point_range r, std::int64_t what);

    /// The largest sum of all points; 0 where there is none.
    std::int64_t most() const { return points_ > 0 ? most_[1] : 0; }

    /// The first point with the largest sum.
    int most_at() const;

private:
    void apply(int i, std::int64_t what);
    void pull(int i) {
        most_[to_size(i)] = std::max(most_[to_size(2 * i)], most_[to_size(2 * i + 1)]) + added_[to_size(i)];
    }

    int leaves_ = 1;
    int points_ = 0;
    std::vector<std::int64_t> most_;  ///< of what is below, with what was added there
    std::vector<std::int64_t> added_; ///< to all that is below
};

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/usage_tree.inl"
#endif

#include "tessera/base/end_header.inl"
