// SPDX-License-Identifier: Apache-2.0
// Where the windows of a shard lie in its tile.
#pragma once

#include "tessera/backend/cuda/calls/compose.hpp"

namespace tessera::cuda::detail {

/// Where the windows of a shard lie in its tile of the input, along rows (0) and columns (1).
struct window_place {
    index_t extent[2] = {}; ///< of the tile
    index_t before[2] = {}; ///< padding above or left of the tile
    index_t after[2] = {};
    bool empty = false; ///< nothing but padding
    /// The padding before the tile, on both sides, makes as many windows: what is beyond the last is not read.
    bool even[2] = {};
    bool is_even() const { return even[0] && even[1]; }
};

inline window_place place_of(const shard_call& s, const box& tile) {
    window_place w;
    const auto a = s.attributes().as<op::window_attributes>();
    const loop_name loops[] = {loop_name::height, loop_name::width};
    for (int k = 0; k < 2; ++k) {
        const interval& out = s.call.ranges[s.d.find_loop(loops[k])];
        const index_t first = out.begin * a.stride[k] - a.padding[k];
        const index_t last = (out.end - 1) * a.stride[k] - a.padding[k] + (a.window[k] - 1) * a.dilation[k];
        w.extent[k] = tile.dim[2 + k].size();
        w.before[k] = tile.dim[2 + k].begin - first;
        w.after[k] = last + 1 - tile.dim[2 + k].end;
        w.empty = w.empty || w.extent[k] == 0;
        w.even[k] = w.before[k] >= w.after[k] && w.before[k] - w.after[k] < a.stride[k];
    }
    return w;
}

inline window_place place_of(const shard_call& s) { return place_of(s, s.region_of(s.input())); }

inline void copy_y(const shard_call& s, int (&y)[4]) {
    for (int k = 0; k < 4; ++k) {
        y[k] = to_int(s.size(s.output(), k));
    }
}

} // namespace tessera::cuda::detail
