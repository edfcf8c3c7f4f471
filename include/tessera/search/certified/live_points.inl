// SPDX-License-Identifier: Apache-2.0
// Bodies of live_points.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/live_points.hpp"

namespace tessera::search::detail {

TESSERA_INLINE live_points make_live_points(std::span<const live_range> ranges) {
    live_points points;
    std::vector<std::int64_t> begins, ends;
    for (const live_range& r : ranges) {
        if (!r.is_empty()) {
            begins.push_back(r.first);
            ends.push_back(r.last);
        }
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    std::size_t b = 0;
    for (std::size_t e = 0; e < ends.size();) {
        const std::int64_t end = ends[e];
        std::int64_t latest = 0;
        bool began = false;
        for (; b < begins.size() && begins[b] < end; ++b) {
            latest = begins[b];
            began = true;
        }
        if (began) {
            points.times.push_back(latest);
        }
        for (; e < ends.size() && ends[e] == end; ++e) {
        }
    }
    for (const live_range& r : ranges) {
        const auto place = [&](std::int64_t t) {
            return static_cast<int>(std::lower_bound(points.times.begin(), points.times.end(), t) -
                                    points.times.begin());
        };
        points.of_nodes.push_back(r.is_empty() ? point_range{} : point_range{place(r.first), place(r.last)});
    }
    return points;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
