// SPDX-License-Identifier: Apache-2.0
// Bodies of optimum.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/optimum.hpp"

namespace tessera::search {

TESSERA_INLINE std::string to_text(const optimum_result& r) {
    char text[240];
    const auto ms = [](cost_t ns) { return static_cast<double>(ns) * 1e-6; };
    if (r.model.bound == 0 && r.model.cost > 0) {
        print_to(text, sizeof text, "%.3f ms under the additive model of its links", ms(r.model.cost));
    } else if (r.model.cost == r.model.bound) {
        print_to(text, sizeof text, "%.3f ms under the additive model of its links, the best possible",
                 ms(r.model.cost));
    } else {
        print_to(text, sizeof text,
                 "%.3f ms under the additive model of its links, at most %.2f %% above the best possible",
                 ms(r.model.cost), 100 * r.gap());
    }
    std::string all = text;
    if (r.lean) {
        all += "; the cheapest of a few that need little memory: what the model says fits did not with what plans need "
               "besides";
    } else if (r.tightened > 0) {
        all += "; its memory was lowered " + std::to_string(r.tightened) + " times for what plans need besides";
    }
    return all + "\n";
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
