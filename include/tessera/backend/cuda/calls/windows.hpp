// SPDX-License-Identifier: Apache-2.0
// Where the windows of a shard lie in its tile.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/window.hpp"

namespace tessera::cuda::detail {

/// Where the windows of a shard lie in its tile of the input, along rows and columns; of volumes, planes before them.
struct window_place {
    op::windows a;
    index_t extent[op::max_window_dimensions] = {}; ///< of the tile
    index_t before[op::max_window_dimensions] = {}; ///< padding before the tile
    index_t after[op::max_window_dimensions] = {};
    bool empty = false; ///< nothing but padding
    /// The padding before the tile, on both sides, makes as many windows: what is beyond the last is not read.
    bool even[op::max_window_dimensions] = {};
    bool is_even() const;
};

window_place place_of(const shard_call& s, const box& tile);

inline window_place place_of(const shard_call& s) { return place_of(s, s.region_of(s.input())); }

/// The shard's output as images: the planes of a volume are rows of one.
void copy_y(const shard_call& s, int (&y)[4]);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/windows.inl"
#endif

#include "tessera/base/end_header.inl"
