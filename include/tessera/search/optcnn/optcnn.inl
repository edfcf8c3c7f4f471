// SPDX-License-Identifier: Apache-2.0
// Bodies of optcnn.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/optcnn.hpp"

namespace tessera::search::detail {

TESSERA_INLINE std::vector<int> kinds_of(const graph_view& g) {
    std::vector<int> kinds;
    for (int op = 0; op < g.op_count; ++op) {
        kinds.push_back(first_alike(g, op));
    }
    return kinds;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
