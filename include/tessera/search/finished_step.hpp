// SPDX-License-Identifier: Apache-2.0
// What a step of a strategy takes when its plan is finished: searches price plans as they come from lowering, without
// the waits that memory used again costs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/scratch.hpp"
#include "tessera/simulate/simulate.hpp"

namespace tessera::search {

struct finished_step {
    index_t makespan = 0;              ///< ns of the whole plan, which may be several steps
    index_t moved_bytes = 0;           ///< between devices
    std::vector<index_t> peak_bytes{}; ///< of every device
    bool fits = true;                  ///< every device has that much
};

/// The plan of a strategy that keeps the rules, bound by a cost model: what searches simulate, and whose memory they
/// ask for.
plan bound_plan(const graph_view& g, const strategy& s, int devices, const lower_options& o = {});

/// Lowers, binds, places and simulates a strategy that keeps the rules. Throws what lower() and simulate() throw.
finished_step simulate_finished(const graph_view& g, const cluster& on, const strategy& s,
                                const simulation::task_times& times = {}, const lower_options& lowering = {});

/// Bytes by which the device that lacks most lacks memory for the plan of a strategy, with all that is gathered and on
/// its way; 0: it fits.
index_t lacking_bytes(const graph_view& g, const cluster& on, const strategy& s, const lower_options& o = {});

/// True if that plan fits in the devices' memory.
bool fits(const graph_view& g, const cluster& on, const strategy& s, const lower_options& o = {});

/// True if the waits of a finished plan may change its time: somewhere a device copies in turn.
bool waits_count(const cluster& on);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/finished_step.inl"
#endif

#include "tessera/base/end_header.inl"
