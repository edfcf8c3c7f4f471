// SPDX-License-Identifier: Apache-2.0
// Bodies of windows.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/windows.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE bool window_place::is_even() const {
    bool all = true;
    for (int k = 0; k < a.dimensions; ++k) {
        all = all && even[k];
    }
    return all;
}

TESSERA_INLINE window_place place_of(const shard_call& s, const box& tile) {
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

TESSERA_INLINE void copy_y(const shard_call& s, int (&y)[4]) {
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
