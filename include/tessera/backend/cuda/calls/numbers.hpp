// SPDX-License-Identifier: Apache-2.0
// Extents of tiles as kernels take them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"

namespace tessera::cuda::detail {

/// Rows of a tensor whose last dimension are its features: samples, or samples times positions.
inline index_t rows_of(const shard_call& s, int o) {
    const box b = s.region_of(o);
    return b.volume() / b.dim[b.rank - 1].size();
}

inline kernel_numbers count_of(index_t elements) {
    kernel_numbers n;
    n.n[0] = elements;
    return n;
}

/// Rows and columns of a tile whose last dimension is the row.
inline kernel_numbers row_numbers(const shard_call& s, int o) {
    kernel_numbers n;
    n.n[0] = rows_of(s, o);
    n.n[1] = s.volume(o) / n.n[0];
    n.n[2] = 1;
    return n;
}

/// Samples, channels and elements of a channel's plane of a tile.
inline kernel_numbers channel_numbers(const shard_call& s, int o) {
    kernel_numbers n;
    n.n[0] = s.size(o, 0);
    n.n[1] = s.size(o, 1);
    n.n[2] = s.volume(o) / (n.n[0] * n.n[1]);
    return n;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
