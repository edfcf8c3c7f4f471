// SPDX-License-Identifier: Apache-2.0
// What a step of a strategy takes when its plan is finished: searches price plans as they come from lowering, without the waits that memory used
// again costs.
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

/// The plan of a strategy that keeps the rules, bound by a cost model: what searches simulate, and whose memory they ask for.
inline plan bound_plan(const graph_view& g, const strategy& s, int devices, const lower_options& o = {}) {
    plan p = lower(g, s.view(), devices, o);
    bind_by_model(g, p);
    return p;
}

/// Lowers, binds, places and simulates a strategy that keeps the rules. Throws what lower() and simulate() throw.
inline finished_step simulate_finished(const graph_view& g, const cluster& on, const strategy& s,
                                       const simulation::task_times& times = {}, const lower_options& lowering = {}) {
    plan p = bound_plan(g, s, on.devices(), lowering);
    complete(p);
    simulation::timeline t = simulation::simulate(g, p, on, times);
    finished_step r{t.makespan, p.moved_bytes, static_cast<std::vector<index_t>&&>(t.peak_bytes)};
    for (int d = 0; d < on.devices(); ++d) {
        const index_t limit = on.class_of(d).memory_bytes;
        r.fits = r.fits && (limit <= 0 || r.peak_bytes[static_cast<std::size_t>(d)] <= limit);
    }
    return r;
}

/// Bytes by which the device that lacks most lacks memory for the plan of a strategy, with all that is gathered and on its way; 0: it fits.
inline index_t lacking_bytes(const graph_view& g, const cluster& on, const strategy& s, const lower_options& o = {}) {
    plan p = bound_plan(g, s, on.devices(), o);
    plan_memory(p);
    index_t most = 0;
    for (int d = 0; d < on.devices(); ++d) {
        const index_t limit = on.class_of(d).memory_bytes;
        const auto at = static_cast<std::size_t>(d);
        most = limit > 0 ? std::max(most, p.arena_bytes[at] + p.persistent_bytes[at] - limit) : most;
    }
    return most;
}

/// True if that plan fits in the devices' memory.
inline bool fits(const graph_view& g, const cluster& on, const strategy& s, const lower_options& o = {}) {
    return lacking_bytes(g, on, s, o) == 0;
}

/// True if the waits of a finished plan may change its time: somewhere a device copies in turn.
inline bool waits_count(const cluster& on) {
    for (int d = 0; d < on.devices(); ++d) {
        if (on.class_of(d).copies_in_turn) {
            return true;
        }
    }
    return false;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
