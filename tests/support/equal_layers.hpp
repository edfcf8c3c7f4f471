// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/net/network.hpp"

namespace test_support::equal_layers {

/// Eight equal layers between one and a loss that take no time: the first of the eight, too, hands a gradient on.
inline constexpr int layers = 8;
struct entry : tessera::linear<8> {};
struct layer : tessera::linear<8> {};
struct tower
    : tessera::sequential<tessera::features<6>, entry, tessera::repeat<layers, layer>, tessera::cross_entropy> {};

inline constexpr tessera::index_t unit = 1000000; ///< ns

} // namespace test_support::equal_layers
