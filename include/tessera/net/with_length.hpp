// SPDX-License-Identifier: Apache-2.0
// A network at another length of its sequences.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/problem_text.hpp"
#include "tessera/net/lengths.hpp"
#include "tessera/net/paths.hpp"

#include <string>

namespace tessera {

/// The same network at another length, from 1 to the longest. Throws tessera::error, naming the layer, where it cannot
/// be.
template <class Graph>
graph with_length(const Graph& g, index_t length) {
    graph copy;
    copy.tensors.assign(g.tensors, g.tensors + g.tensor_count);
    copy.parameters.assign(g.parameters, g.parameters + g.parameter_count);
    copy.ops.assign(g.ops, g.ops + g.op_count);
    if (const problem p = set_length(copy.tensors.data(), g, length)) {
        throw error(to_text(p) + ", at " + std::to_string(length) + " positions in " + path_of(g, p.op));
    }
    return copy;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
