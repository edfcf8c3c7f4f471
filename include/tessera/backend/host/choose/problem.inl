// SPDX-License-Identifier: Apache-2.0
// Bodies of problem.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/problem.hpp"

namespace tessera::host::detail {

TESSERA_INLINE std::string window_numbers(const op::windows& a, index_t groups) {
    std::string name;
    for (const auto* numbers : {&a.window, &a.stride, &a.dilation}) {
        for (int d = 0; d < a.dimensions; ++d) {
            name += " " + std::to_string((*numbers)[d]);
        }
    }
    return name + " " + std::to_string(groups);
}

TESSERA_INLINE std::string padding_numbers(const index_t* begin, const index_t* end, int dimensions) {
    std::string name;
    for (const index_t* side : {begin, end}) {
        for (int d = 0; d < dimensions; ++d) {
            name += (name.empty() ? " p" : ",") + std::to_string(side[d]);
        }
    }
    return name;
}

TESSERA_INLINE std::string window_problem(const compute_call& c, index_t groups) {
    const local_window g(c);
    return window_numbers(g.a, groups) + padding_numbers(g.pad_begin, g.pad_end, g.a.dimensions);
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
