// SPDX-License-Identifier: Apache-2.0
// Searches that price what sessions run: expressions in a row as one operator.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/fuse.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/record.hpp"

namespace tessera::search {

namespace detail {

/// What is asked of lowering by the numbers of the network before it was fused, by those behind.
lower_options renumbered(lower_options o, const fused_network& f);

/// A strategy for the network before it was fused, of one for what came of it: operators do as the one that they have
/// become a part of, so that fuse() makes the same of them again.
strategy taken_apart(const graph_view& g, const fused_network& f, const strategy& fused);

} // namespace detail

/// simulate_finished() of what a session plans of a strategy unless it is told not to fuse: operators that are
/// expressions and run alike are one. Throws what lower() and simulate() throw.
finished_step simulate_fused(const graph_view& g, const cluster& on, const strategy& s,
                             const simulation::task_times& times = {}, const lower_options& lowering = {});

/// A search on the network with all fused that can be, which prices the plans that sessions run; what it finds is a
/// strategy for the network itself. Operators that can fuse are then split alike, so that there are fewer strategies
/// than without.
search_found run_fused(const search_record& r, const graph_view& g, const cluster& on, const search_options& o);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fused.inl"
#endif

#include "tessera/base/end_header.inl"
