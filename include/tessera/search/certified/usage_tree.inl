// SPDX-License-Identifier: Apache-2.0
// Bodies of usage_tree.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/usage_tree.hpp"

namespace tessera::search::detail {

TESSERA_INLINE usage_tree::usage_tree(const std::vector<std::int64_t>& sums) : points_(static_cast<int>(sums.size())) {
    while (leaves_ < points_) {
        leaves_ *= 2;
    }
    most_.assign(to_size(2 * leaves_), INT64_MIN / 2); // of places beside the points, which no sum reaches
    added_.assign(to_size(2 * leaves_), 0);
    std::copy(sums.begin(), sums.end(), most_.begin() + leaves_);
    for (int i = leaves_ - 1; i > 0; --i) {
        pull(i);
    }
}

TESSERA_INLINE void usage_tree::add(point_range r, std::int64_t what) {
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

TESSERA_INLINE int usage_tree::most_at() const {
    int i = 1;
    while (i < leaves_) {
        i = most_[to_size(2 * i)] >= most_[to_size(2 * i + 1)] ? 2 * i : 2 * i + 1;
    }
    return i - leaves_;
}

TESSERA_INLINE void usage_tree::apply(int i, std::int64_t what) {
    most_[to_size(i)] += what;
    added_[to_size(i)] += what;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
