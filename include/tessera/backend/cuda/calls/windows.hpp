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
    bool is_even() const {
        bool all = true;
        for (int k = 0; k < a.dimensions; ++k) {
            all = all && even[k];
        }
        return all;
    }
};

inline window_place place_of(const shard_call& s, const box& tile) {
    window_place w;
    w.a = op::windows_of(s.attributes(), tile.rank);
    const op::windows& a = w.a;
    for (int k = 0; k < a.dimensions; ++k) {
        const interval& out = s.call.ranges[s.d.find_loop(op::window_dimension(k, a.dimensions))];
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

/// The shard's output as images: the planes of a volume are rows of one.
inline void copy_y(const shard_call& s, int (&y)[4]) {
    const box all = s.region_of(s.output());
    index_t rows = 1;
    for (int k = 2; k + 1 < all.rank; ++k) {
        rows *= all.dim[k].size();
    }
    y[0] = to_int(all.dim[0].size());
    y[1] = to_int(all.dim[1].size());
    y[2] = to_int(rows);
    y[3] = to_int(all.dim[all.rank - 1].size());
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
