// SPDX-License-Identifier: Apache-2.0
// A network for another number of samples.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

namespace tessera {

/// The same network for another number of samples. (A template so that it is compiled where it is used.)
template <class Graph>
graph with_batch(const Graph& g, index_t batch) {
    graph copy;
    copy.tensors.assign(g.tensors, g.tensors + g.tensor_count);
    copy.parameters.assign(g.parameters, g.parameters + g.parameter_count);
    copy.ops.assign(g.ops, g.ops + g.op_count);
    for (tensor_node& t : copy.tensors) {
        t.extents.extent[0] = batch;
    }
    return copy;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
