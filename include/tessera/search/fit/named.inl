// SPDX-License-Identifier: Apache-2.0
// Bodies of named.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/named.hpp"

namespace tessera::search::detail {

TESSERA_INLINE std::string short_bytes(index_t bytes) {
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    double number = static_cast<double>(bytes);
    for (; number >= 999.5 && unit < 4; ++unit) {
        number /= 1000;
    }
    char text[32];
    print_to(text, sizeof text, "%.3g %s", number, units[unit]);
    return text;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::string to_text(const graph_view& g, const fit_result& r) {
    std::string text = "of " + std::to_string(r.considered) + " strategies " + std::to_string(r.simulated) +
                       " were simulated; with " + detail::short_bytes(r.smallest_memory) + " on each device one fits\n";
    int shown = 0;
    for (const fit_row& row : r.rows) {
        if (row.refused.empty() && shown++ < 10) {
            char numbers[64];
            print_to(numbers, sizeof numbers, "%12.3f ms %9s%s  ", static_cast<double>(row.step) * 1e-6,
                     detail::short_bytes(row.most_bytes).c_str(), row.fits ? "  " : " !");
            text += numbers + to_text(g, row.how) + "\n";
        }
    }
    const schedule::policy_record* policy = r.row.how.policy;
    text += "gradients: " + (policy == nullptr ? "each by itself, as soon as it is ready" : std::string(policy->title));
    return text + (r.row.how.overlap ? ", beside computation\n" : "\n");
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
