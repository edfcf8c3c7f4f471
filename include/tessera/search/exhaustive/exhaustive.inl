// SPDX-License-Identifier: Apache-2.0
// Bodies of exhaustive.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/exhaustive/exhaustive.hpp"

namespace tessera::search {

TESSERA_INLINE long double space_size(const additive_problem& problem) {
    long double size = 1;
    for (int v = 0; v < problem.nodes(); ++v) {
        size *= static_cast<long double>(problem.configurations(v));
    }
    return size;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
