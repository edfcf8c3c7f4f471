// SPDX-License-Identifier: Apache-2.0
// Bodies of not_finite.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/not_finite.hpp"

namespace tessera::detail {

TESSERA_INLINE bool is_finite(std::span<const float> x) {
    for (const float v : x) {
        if (!tessera::is_finite(v)) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
