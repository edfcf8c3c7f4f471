// SPDX-License-Identifier: Apache-2.0
// What a plan moves between devices, and why.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/print.hpp"

#include <algorithm>

namespace tessera {

/// Bytes that cross between devices in a step for one reason.
struct movement {
    tile_kind what = tile_kind::activation;
    int source = -1; ///< operator that made the tensor, or -1: it is an input of the network, or a parameter
    int parameter = -1;
    int op = -1; ///< operator whose task moves it
    pass when = pass::forward;
    index_t bytes = 0;

    friend constexpr bool operator==(const movement&, const movement&) = default;
};

namespace detail {

/// What a tile's bytes are counted under, without their number.
movement reason_of(const graph_view& g, const tile& x, const task& t);

} // namespace detail

/// All that a plan moves between devices, summed by reason, in the order of the first such task. Together it is the
/// plan's moved_bytes, and 8 bytes for every norm that is read across devices.
std::vector<movement> movements_of(const graph_view& g, const plan& p);

/// True for what moves because of an operator: what it made, what its own tasks fetch, and its parameters.
bool concerns(const graph_view& g, const movement& m, int op);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/movements.inl"
#endif

#include "tessera/base/end_header.inl"
