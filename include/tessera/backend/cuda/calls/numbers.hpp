// SPDX-License-Identifier: Apache-2.0
// Extents of tiles as kernels take them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/kernels/rows.hpp"

namespace tessera::cuda::detail {

/// Rows of a tensor whose last dimension are its features: samples, or samples times positions.
index_t rows_of(const shard_call& s, int o);

kernel_numbers count_of(index_t elements);

/// Rows and columns of a tile whose last dimension is the row.
kernels::row_numbers row_numbers_of(const shard_call& s, int o);

/// Samples, channels and elements of a channel's plane of a tile.
kernels::channel_numbers channel_numbers_of(const shard_call& s, int o);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/numbers.inl"
#endif

#include "tessera/base/end_header.inl"
