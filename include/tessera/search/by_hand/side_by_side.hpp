// SPDX-License-Identifier: Apache-2.0
// Layers side by side on parts of a machine: starts that a search does not come upon by small steps.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/mcmc/proposal_space.hpp"

namespace tessera::search {

/// Strategies in which layers that are alike lie on two, four or eight equal parts of the devices, in turns and split
/// by samples there, so that they work on different steps or branches at the same time; one for every sort of layers
/// that there are several of, and one for all blocks; on neighbouring devices and strided over the machine. What is not
/// dealt out stays as it is in `from`, pinned operators too.
std::vector<named_strategy> layers_side_by_side(const proposal_space& space, const strategy& from);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/by_hand/side_by_side.inl"
#endif

#include "tessera/base/end_header.inl"
