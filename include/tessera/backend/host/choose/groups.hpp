// SPDX-License-Identifier: Apache-2.0
// Which tasks of a plan the host computes alike, and in which ways all of them can be.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/chooser.hpp"

namespace tessera::host::detail {

/// What is computed again is computed as it was the first time.
constexpr pass computed_as(pass p) { return p == pass::recompute ? pass::forward : p; }

bool backward_follows_forward(const operator_rows& rows, const op_attributes& a);

/// Formats of activations alone, by which candidates of different shards or passes correspond.
bool corresponds(const candidate& a, const candidate& b);

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/groups.inl"
#endif

#include "tessera/base/end_header.inl"
