// SPDX-License-Identifier: Apache-2.0
// Placement by list scheduling: HEFT (Topcuoglu, Hariri and Wu, IEEE TPDS 2002) with memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

namespace tessera::search::placement {

/// Nodes by upward rank, the longest way from one to the end, with the mean time over devices and the mean transfer;
/// each goes where it ends the earliest among the devices that run it and have memory left for what it holds and makes.
/// One that fits nowhere goes to the one with the most memory left. Groups go where their first node went.
found by_list(evaluator& e);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/list_placement.inl"
#endif

#include "tessera/base/end_header.inl"
