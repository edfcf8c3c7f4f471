// SPDX-License-Identifier: Apache-2.0
// Where a loss shows: what has to be looked at before a step changes anything.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {

/// The tile of a loss's rows that a compute task writes, or -1.
inline int loss_rows_of(const plan& p, const graph_view& g, const task& t) {
    for (const int w : t.writes) {
        const tile& x = p.tiles[static_cast<std::size_t>(w)];
        if (g.is_loss(t.op) && x.kind == tile_kind::activation && x.tensor == g.ops[t.op].output &&
            x.type == element::f32) {
            return w;
        }
    }
    return -1;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
