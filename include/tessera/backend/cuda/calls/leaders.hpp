// SPDX-License-Identifier: Apache-2.0
// The largest logit of every row, found where the logits are: 8 bytes a row come to the host instead of all classes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/kernels/rows.hpp"
#include "tessera/execute/evaluation.hpp"

namespace tessera::cuda {

/// The launch for a tile of logits: a block for each of its rows. Pointers: the tile, and row_leader[rows].
inline kernel_launch leaders_launch(const tile& t) {
    const logit_rows rows(t.region);
    kernel_numbers n;
    n.n[0] = rows.samples;
    n.n[1] = rows.classes;
    n.n[2] = rows.plane;
    n.n[3] = rows.first_class;
    kernel_launch k = composer::make(kernels::row_leader, 2, n);
    k.type = t.type;
    k.blocks = to_int(rows.count());
    k.threads = composer::threads_for(rows.classes);
    return k;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
