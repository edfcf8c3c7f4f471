// SPDX-License-Identifier: Apache-2.0
// Bodies of graph_builder.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph_builder.hpp"

namespace tessera {

TESSERA_INLINE graph graph_builder::built() const {
    graph g;
    g.tensors.assign(tensors.data(), tensors.data() + tensor_count);
    g.parameters.assign(parameters.data(), parameters.data() + parameter_count);
    g.ops.assign(ops.data(), ops.data() + op_count);
    return g;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
