// SPDX-License-Identifier: Apache-2.0
// Names of local problems: equal for equal ones, in every process.
#pragma once

#include "tessera/backend/host/call.hpp"
#include "tessera/op/conv2d.hpp"

#include <string>

namespace tessera::host::detail {

/// Ones where an operator has no window.
inline std::string window_numbers(const op::window_attributes& a = {}, index_t groups = 1) {
    std::string name;
    for (const index_t x : {a.window[0], a.window[1], a.stride[0], a.stride[1], a.dilation[0], a.dilation[1], groups}) {
        name += " " + std::to_string(x);
    }
    return name;
}

inline std::string padding_numbers(const index_t (&begin)[2], const index_t (&end)[2]) {
    return " p" + std::to_string(begin[0]) + "," + std::to_string(begin[1]) + "," + std::to_string(end[0]) + "," +
           std::to_string(end[1]);
}

/// Of a window that walks over the input.
inline std::string window_problem(const compute_call& c, index_t groups = 1) {
    const local_window g(c);
    return window_numbers(c.attributes.as<op::window_attributes>(), groups) + padding_numbers(g.pad_begin, g.pad_end);
}

} // namespace tessera::host::detail
