// SPDX-License-Identifier: Apache-2.0
// Uneven shards for unequal devices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/strategy/proportion.hpp"

namespace tessera::search {

/// What each of the first so many devices reaches in products of matrices; empty where all are as fast.
std::vector<index_t> rates_where_unequal(const cluster& on, int devices, precision math);

bool unequal_devices(const cluster& on, int devices, precision math);

/// A split of one loop over devices 0, 1, 2, ... with cut points in proportion to their rates; `cuts` is empty where
/// that would be an even split.
struct proportional_split {
    configuration what; ///< its cut points begin at 0 of `cuts`
    std::vector<index_t> cuts;
};
proportional_split split_in_proportion(const description& d, loop_name name, const std::vector<index_t>& rates);

/// Data parallelism with samples in proportion to the devices' rates, evenly where these are equal.
strategy data_parallel_in_proportion(const graph_view& g, const cluster& on);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/proportional.inl"
#endif

#include "tessera/base/end_header.inl"
