// SPDX-License-Identifier: Apache-2.0
// What a plan leaves to be read after its run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/places.hpp"
#include "tessera/plan/lower/plan_writer.hpp"

namespace tessera::lowering {

/// Makes the pieces of a tensor results.
void keep(plan_writer& out, int tensor, const located& where);

/// Losses; in evaluation what goes into them; what is wanted besides; gradients, where they are asked for.
void collect_results(const lowering_input& in, const network_places& net,
                     const std::vector<micro_batch_places>& micro_batches, plan_writer& out);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/results.inl"
#endif

#include "tessera/base/end_header.inl"
