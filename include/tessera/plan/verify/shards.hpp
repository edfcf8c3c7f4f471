// SPDX-License-Identifier: Apache-2.0
// Checks that an operator's shards make all of it: what they compute fills its loops, each point once, and every piece
// of a sum has a number of its own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/pieces.hpp"

#include <algorithm>

namespace tessera::detail {

/// True where cells, of which some may be copies, are those of a grid over `all`: each axis is cut into intervals
/// without gaps, and every combination of them is there. Leaves each cell once.
bool fill_grid(std::vector<cell>& cells, const cell& all);

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/shards.inl"
#endif

#include "tessera/base/end_header.inl"
