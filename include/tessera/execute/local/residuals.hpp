// SPDX-License-Identifier: Apache-2.0
// What devices have left out of compressed gradients (error feedback), which a store keeps from step to step.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/store.hpp"
#include "tessera/execute/ranks/processes.hpp"

#include <vector>

namespace tessera {

/// A residual: what one device has left out so far of the gradients of a region of a parameter, a number for each
/// element, row-major.
struct residual_key {
    int parameter = 0;
    int device = 0;
    box region; ///< of the parameter

    friend bool operator==(const residual_key&, const residual_key&) = default;
};

namespace detail {

/// All residuals of a store, in the order of its plans.
std::vector<residual_key> residuals_of(const parameter_store& store);

/// The numbers of one. Throws tessera::error where the store has none of that name.
float* residual_at(const parameter_store& store, const residual_key& r);

/// Forgets them: of another training. Each process of a group (or null) those of its own devices.
void forget_residuals(const parameter_store& store, const process_group* group);

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/residuals.inl"
#endif

#include "tessera/base/end_header.inl"
