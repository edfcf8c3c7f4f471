// SPDX-License-Identifier: Apache-2.0
// Cut points in proportion to what devices can do.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

#include <cmath>

namespace tessera {

/// Where an extent is cut into as many shards as there are rates, in proportion to these, every shard at least 1 long.
/// Empty where there is one rate, where the extent is shorter than that, and where the cuts are those of equal shards.
std::vector<index_t> cuts_in_proportion(index_t extent, const std::vector<index_t>& rates);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/strategy/proportion.inl"
#endif

#include "tessera/base/end_header.inl"
