// SPDX-License-Identifier: Apache-2.0
// Bodies of shape_text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/shape_text.hpp"

namespace tessera::detail {

TESSERA_INLINE std::string text_of(const shape& s) {
    std::string text;
    for (int d = 0; d < s.rank; ++d) {
        text += (d > 0 ? "x" : "") + std::to_string(s[d]);
    }
    return text;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
