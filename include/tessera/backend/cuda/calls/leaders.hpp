// SPDX-License-Identifier: Apache-2.0
// The largest logit of every row, found where the logits are: 8 bytes a row come to the host instead of all classes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/kernels/rows.hpp"
#include "tessera/execute/evaluation.hpp"

namespace tessera::cuda {

/// The launch for a tile of logits: a block for each of its rows. Pointers: the tile, and row_leader[rows].
kernel_launch leaders_launch(const tile& t);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/leaders.inl"
#endif

#include "tessera/base/end_header.inl"
