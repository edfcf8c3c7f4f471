// SPDX-License-Identifier: Apache-2.0
// Bodies of graph.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

namespace tessera {

TESSERA_INLINE graph_view graph::view() const {
    return {tensors.data(),
            parameters.data(),
            ops.data(),
            static_cast<int>(tensors.size()),
            static_cast<int>(parameters.size()),
            static_cast<int>(ops.size())};
}

} // namespace tessera

#include "tessera/base/end_header.inl"
