// SPDX-License-Identifier: Apache-2.0
// What an edge of the additive model takes at least, wherever the shards of its two operators run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/tiling.hpp"

#include <algorithm>

namespace tessera::cost {

namespace detail {

/// Where `others` shards have devices on which there may be something already and `wants` has more shards, the rest
/// receives all that it wants: what the one of them that wants most receives at least.
index_t least_without(std::vector<index_t>& wants, int others);

} // namespace detail

/// A lower bound of bytes_between(...).time(on) for every pair of configurations, times[i * (number of the consumer's)
/// + j], over all placements in which no device has two shards of one operator. A shard has on its device at most one
/// piece of what it needs, so that it receives what is not in the piece that has most of it; and where one operator has
/// fewer shards than the other, some of the other's find nothing on their devices. Where nothing partial is passed on.
std::vector<index_t> least_edge_times(const tiling<0, 0, 0>& from, const tiling<0, 0, 0>& to, index_t element_bytes,
                                      bool gradient, const machine& on);

} // namespace tessera::cost

#ifndef TESSERA_COMPILED
#include "tessera/cost/free_edges.inl"
#endif

#include "tessera/base/end_header.inl"
