// SPDX-License-Identifier: Apache-2.0
// What devices have left out of compressed gradients, which a store keeps from step to step.
#pragma once

#include "tessera/execute/processes.hpp"
#include "tessera/execute/store.hpp"

namespace tessera::detail {

/// Forgets it: of another training, or of one that goes on from a file, which does not hold it. Each process of a group (or null) that of its own devices.
inline void forget_residuals(const parameter_store& store, const process_group* group) {
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::residual && (group == nullptr || group->owns(e.what.device))) {
            std::memset(store.address(e), 0, static_cast<std::size_t>(e.what.bytes));
        }
    }
}

} // namespace tessera::detail
