// SPDX-License-Identifier: Apache-2.0
// Names of local problems: equal for equal ones, in every process.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/op/window.hpp"

#include <string>

namespace tessera::host::detail {

/// Ones where an operator has no window.
inline std::string window_numbers(const op::windows& a = {}, index_t groups = 1) {
    std::string name;
    for (const auto* numbers : {&a.window, &a.stride, &a.dilation}) {
        for (int d = 0; d < a.dimensions; ++d) {
            name += " " + std::to_string((*numbers)[d]);
        }
    }
    return name + " " + std::to_string(groups);
}

inline std::string padding_numbers(const index_t* begin, const index_t* end, int dimensions) {
    std::string name;
    for (const index_t* side : {begin, end}) {
        for (int d = 0; d < dimensions; ++d) {
            name += (name.empty() ? " p" : ",") + std::to_string(side[d]);
        }
    }
    return name;
}

/// Of a window that walks over the input.
inline std::string window_problem(const compute_call& c, index_t groups = 1) {
    const local_window g(c);
    return window_numbers(g.a, groups) + padding_numbers(g.pad_begin, g.pad_end, g.a.dimensions);
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
