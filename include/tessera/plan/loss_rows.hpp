// SPDX-License-Identifier: Apache-2.0
// Where a loss shows: what has to be looked at before a step changes anything.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {

/// The tile of a loss's rows that a compute task writes, or -1.
int loss_rows_of(const plan& p, const graph_view& g, const task& t);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/loss_rows.inl"
#endif

#include "tessera/base/end_header.inl"
