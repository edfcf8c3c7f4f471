// SPDX-License-Identifier: Apache-2.0
// What devices have left out of compressed gradients (error feedback), which a store keeps from step to step.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/processes.hpp"
#include "tessera/execute/store.hpp"

#include <vector>

namespace tessera {

/// A residual: what one device has left out so far of the gradients of a region of a parameter, a number for each element, row-major.
struct kept_residual {
    int parameter = 0;
    int device = 0;
    box region; ///< of the parameter

    friend bool operator==(const kept_residual&, const kept_residual&) = default;
};

namespace detail {

/// All residuals of a store, in the order of its plans.
inline std::vector<kept_residual> residuals_of(const parameter_store& store) {
    std::vector<kept_residual> all;
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::residual) {
            all.push_back({e.what.tensor, e.what.device, e.what.region});
        }
    }
    return all;
}

/// The numbers of one. Throws tessera::error where the store has none of that name.
inline float* residual_at(const parameter_store& store, const kept_residual& r) {
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::residual && r == kept_residual{e.what.tensor, e.what.device, e.what.region}) {
            return reinterpret_cast<float*>(store.address(e));
        }
    }
    throw error("tessera: device " + std::to_string(r.device) + " leaves nothing out of these gradients of parameter " +
                std::to_string(r.parameter));
}

/// Forgets them: of another training. Each process of a group (or null) those of its own devices.
inline void forget_residuals(const parameter_store& store, const process_group* group) {
    for (const kept_residual& r : residuals_of(store)) {
        if (group == nullptr || group->owns(r.device)) {
            std::memset(residual_at(store, r), 0, static_cast<std::size_t>(r.region.volume()) * sizeof(float));
        }
    }
}

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
