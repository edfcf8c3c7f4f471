// SPDX-License-Identifier: Apache-2.0
// Lowering: from a network and a strategy to the logical plan. Everything here follows from the operators'
// descriptions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/depend.hpp"
#include "tessera/plan/lower/actions.hpp"
#include "tessera/plan/lower/checks.hpp"
#include "tessera/plan/lower/results.hpp"
#include "tessera/plan/streams.hpp"

namespace tessera {

namespace lowering {

/// A plan without tiles and tasks: what it says of itself.
plan_writer empty_plan(const lowering_input& in);

/// Room for about as many tiles and tasks as there will be: growing by doubling would move them, and touch new pages,
/// several times.
void reserve(const lowering_input& in, plan_writer& out);

/// One step of training, or one evaluation.
void lower_step(network_lowering& x);

} // namespace lowering

/// The logical plan of a network under a strategy. The strategy must keep the rules (see require()). Throws
/// tessera::error for micro-batches, stages or a schedule that do not fit the network or each other.
plan lower(const graph_view& g, const strategy_view& s, int devices, const lower_options& options = {});

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/lower.inl"
#endif

#include "tessera/base/end_header.inl"
