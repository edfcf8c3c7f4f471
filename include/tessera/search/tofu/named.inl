// SPDX-License-Identifier: Apache-2.0
// Bodies of named.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/tofu/named.hpp"

namespace tessera::search {

TESSERA_INLINE std::string to_text(const tofu_result& r) {
    char text[160];
    std::string steps;
    for (std::size_t i = 0; i < r.step_bytes.size(); ++i) {
        print_to(text, sizeof text, "%s%d-way %.3f", i == 0 ? "" : ", ", r.steps.factors[i],
                 static_cast<double>(r.step_bytes[i]) * 1e-6);
        steps += text;
    }
    print_to(text, sizeof text, "%d groups of operators, tables over %d; %.3f MB cross between devices", r.groups,
             r.width, static_cast<double>(r.bytes) * 1e-6);
    return text + (steps.empty() ? std::string("\n") : ", step by step: " + steps + "\n") +
           (r.exact ? "" : "not every step is the best possible by bytes\n");
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
