// SPDX-License-Identifier: Apache-2.0
// Bodies of program.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/program.hpp"

namespace tessera::torch {

TESSERA_INLINE bool exchange_table::moves_between_ranks() const {
    bool any = false;
    for (const box_move& m : moves) {
        any = any || (kind != "take" && sources[to_size(m.from)].rank != targets[to_size(m.to)].rank);
    }
    return any;
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
