// SPDX-License-Identifier: Apache-2.0
// Lowering of updates by each copy's own gradients, and of the averages of copies that follow every few steps.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/update.hpp"

namespace tessera::lowering {

/// Every copy of a region by the contributions of its own device, times the number of copies; where one has none, or
/// shards overlap, all sum.
void update_copies(const lowering_input& in, const network_places& net, synchronization_places& sync, plan_writer& out,
                   int parameter, const std::vector<piece>& copies, gathered_list& sums);

/// At the end of a step: each member averages a slice and hands it to all.
void average_copies(const lowering_input& in, synchronization_places& sync, plan_writer& out);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/average.inl"
#endif

#include "tessera/base/end_header.inl"
