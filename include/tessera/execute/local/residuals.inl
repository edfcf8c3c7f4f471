// SPDX-License-Identifier: Apache-2.0
// Bodies of residuals.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/residuals.hpp"

namespace tessera::detail {

TESSERA_INLINE std::vector<residual_key> residuals_of(const parameter_store& store) {
    std::vector<residual_key> all;
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::residual) {
            all.push_back({e.what.tensor, e.what.device, e.what.region});
        }
    }
    return all;
}

TESSERA_INLINE float* residual_at(const parameter_store& store, const residual_key& r) {
    for (const parameter_store::entry& e : store.entries()) {
        if (e.what.kind == tile_kind::residual && r == residual_key{e.what.tensor, e.what.device, e.what.region}) {
            return reinterpret_cast<float*>(store.address(e));
        }
    }
    throw error("tessera: device " + std::to_string(r.device) + " leaves nothing out of these gradients of parameter " +
                std::to_string(r.parameter));
}

TESSERA_INLINE void forget_residuals(const parameter_store& store, const process_group* group) {
    for (const residual_key& r : residuals_of(store)) {
        if (group == nullptr || group->owns(r.device)) {
            std::memset(residual_at(store, r), 0, to_size(r.region.volume()) * sizeof(float));
        }
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
