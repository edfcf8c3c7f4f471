// SPDX-License-Identifier: Apache-2.0
// Two strategies compared where numbers of devices do not matter: on a machine of equal devices many strategies are the
// same but for these.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/coarse/parts.hpp"

#include <algorithm>
#include <tuple>

namespace tessera::search {

/// True if a machine looks the same when device i is called order[i]: classes, nodes, and the latency, bandwidth and
/// number of links of every route stay.
bool is_symmetry(const cluster& on, const std::vector<int>& order);

namespace detail {

/// Pairs every row with a column of its own, the most votes first; among equals the same number, then the lowest
/// numbers.
std::vector<int> matched(const std::vector<std::vector<index_t>>& votes);

} // namespace detail

/// For every device of `b` the number under which most of its shards lie where `a` has them, if the machine looks the
/// same when its devices are called so; else, and where a schedule names devices by their numbers, every device's own
/// number. Operators that are split alike have a vote for each shard.
std::vector<int> same_places(const graph_view& g, const cluster& on, const strategy& a, const strategy& b);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/same_places.inl"
#endif

#include "tessera/base/end_header.inl"
