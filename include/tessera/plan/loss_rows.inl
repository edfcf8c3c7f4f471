// SPDX-License-Identifier: Apache-2.0
// Bodies of loss_rows.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/loss_rows.hpp"

namespace tessera {

TESSERA_INLINE int loss_rows_of(const plan& p, const graph_view& g, const task& t) {
    for (const int w : t.writes) {
        const tile& x = p.tiles[to_size(w)];
        if (g.is_loss(t.op) && x.kind == tile_kind::activation && x.tensor == g.ops[t.op].output &&
            x.type == element::f32) {
            return w;
        }
    }
    return -1;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
