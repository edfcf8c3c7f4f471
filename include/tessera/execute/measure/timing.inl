// SPDX-License-Identifier: Apache-2.0
// Bodies of timing.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/measure/timing.hpp"

namespace tessera::detail {

TESSERA_INLINE int median_place(int n) {
    const double place = (n - 1.959964 * std::sqrt(n) - 1) / 2;
    return n < 6 ? -1 : static_cast<int>(place);
}

TESSERA_INLINE timing timing_of(const std::vector<double>& ordered) {
    timing t;
    t.samples = static_cast<int>(ordered.size());
    if (ordered.empty()) {
        return t;
    }
    const std::size_t n = ordered.size();
    t.least = ordered[0];
    t.lower_quartile = ordered[n / 4];
    t.median = ordered[n / 2];
    t.upper_quartile = ordered[3 * n / 4];
    const int place = median_place(t.samples);
    if (place >= 0 && t.median > 0) {
        const auto k = to_size(place);
        t.precision = (ordered[n - 1 - k] - ordered[k]) / (2 * t.median);
    }
    return t;
}

TESSERA_INLINE sample_list::sample_list(int most) {
    all_.reserve(to_size(most));
    sorted_.reserve(to_size(most));
}

TESSERA_INLINE timing sample_list::so_far() {
    sorted_.assign(all_.begin(), all_.end());
    std::sort(sorted_.begin(), sorted_.end());
    return timing_of(sorted_);
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE timing timing_of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return detail::timing_of(samples);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
