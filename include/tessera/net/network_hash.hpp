// SPDX-License-Identifier: Apache-2.0
// A number for what a network computes, which files keep: the same for any number of samples, in every build.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/paths.hpp"
#include "tessera/op/mask.hpp"

#include <bit>
#include <cstdint>
#include <string_view>

namespace tessera {

/// Of its operators with their attributes, what reads what, and the parameters by paths and extents; not of initial
/// values, names of layers without parameters, the number of samples, and what a strategy makes of it.
std::uint64_t network_hash(const graph_view& g);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/network_hash.inl"
#endif

#include "tessera/base/end_header.inl"
