// SPDX-License-Identifier: Apache-2.0
// Pieces of a tensor: its regions on devices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

#include <vector>

namespace tessera {

/// A region of a tensor on a device. Pieces with different `part` are summands; of equal region and part, copies.
struct piece {
    box region;
    int device = 0;
    int summand = 0;
    int tile = -1; ///< where a plan keeps it

    friend constexpr bool operator==(const piece&, const piece&) = default;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
