// SPDX-License-Identifier: Apache-2.0
// Placement by a cut: the nodes in as many parts of equal time as there are devices, with few bytes between them; what
// METIS and Scotch are used for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"
#include "tessera/search/placement/partition.hpp"

namespace tessera::search::placement {

/// The groups as an undirected graph: weights are ns of their tasks, weights of edges the bytes between them.
weighted_graph undirected(const evaluator& e, const grouping& groups);

/// The nodes in at most `most` groups with few bytes between them, what has to lie together in one.
grouping cut_groups(const evaluator& e, int most, const partition_options& o = {});

/// The cut with a part for each of the first `devices` devices (0: all).
found by_cut(evaluator& e, int devices = 0, const partition_options& o = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/cut_placement.inl"
#endif

#include "tessera/base/end_header.inl"
