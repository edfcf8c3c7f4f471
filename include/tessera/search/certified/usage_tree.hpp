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
    explicit usage_tree(const std::vector<std::int64_t>& sums) : points_(static_cast<int>(sums.size())) {
        while (leaves_ < points_) {
            leaves_ *= 2;
        }
        most_.assign(at(2 * leaves_), INT64_MIN / 2); // of places beside the points, which no sum reaches
        added_.assign(at(2 * leaves_), 0);
        std::copy(sums.begin(), sums.end(), most_.begin() + leaves_);
        for (int i = leaves_ - 1; i > 0; --i) {
            pull(i);
        }
    }

    int points() const { return points_; }

    /// Adds to every point of [r.first, r.last).
    void add(point_range r, std::int64_t what) {
        if (r.is_empty() || what == 0) {
            return;
        }
        int left = r.first + leaves_, right = r.last + leaves_;
        const int from = left, to = right - 1;
        for (; left < right; left /= 2, right /= 2) {
            if ((left & 1) != 0) {
                apply(left++, what);
            }
            if ((right & 1) != 0) {
                apply(--right, what);
            }
        }
        for (int i = from / 2; i > 0; i /= 2) {
            pull(i);
        }
        for (int i = to / 2; i > 0; i /= 2) {
            pull(i);
        }
    }

    /// The largest sum of all points; 0 where there is none.
    std::int64_t most() const { return points_ > 0 ? most_[1] : 0; }

    /// The first point with the largest sum.
    int most_at() const {
        int i = 1;
        while (i < leaves_) {
            i = most_[at(2 * i)] >= most_[at(2 * i + 1)] ? 2 * i : 2 * i + 1;
        }
        return i - leaves_;
    }

private:
    void apply(int i, std::int64_t what) {
        most_[at(i)] += what;
        added_[at(i)] += what;
    }
    void pull(int i) { most_[at(i)] = std::max(most_[at(2 * i)], most_[at(2 * i + 1)]) + added_[at(i)]; }

    int leaves_ = 1;
    int points_ = 0;
    std::vector<std::int64_t> most_;  ///< of what is below, with what was added there
    std::vector<std::int64_t> added_; ///< to all that is below
};

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
