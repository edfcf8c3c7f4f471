// SPDX-License-Identifier: Apache-2.0
// Bodies of finished_step.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/finished_step.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE plan bound_plan(const graph_view& g, const strategy& s, int devices, const lower_options& o) {
    plan p = lower(g, s.view(), devices, o);
    bind_by_model(g, p);
    return p;
}

TESSERA_INLINE finished_step simulate_finished(const graph_view& g, const cluster& on, const strategy& s,
                                               const simulation::task_times& times, const lower_options& lowering) {
    plan p = bound_plan(g, s, on.devices(), lowering);
    complete(p);
    simulation::timeline t = simulation::simulate(g, p, on, times);
    finished_step r{t.makespan, p.moved_bytes, std::move(t.peak_bytes)};
    for (int d = 0; d < on.devices(); ++d) {
        const index_t limit = on.class_of(d).memory_bytes;
        r.fits = r.fits && (limit <= 0 || r.peak_bytes[to_size(d)] <= limit);
    }
    return r;
}

TESSERA_INLINE index_t lacking_bytes(const graph_view& g, const cluster& on, const strategy& s,
                                     const lower_options& o) {
    plan p = bound_plan(g, s, on.devices(), o);
    plan_memory(p);
    index_t most = 0;
    for (int d = 0; d < on.devices(); ++d) {
        const index_t limit = on.class_of(d).memory_bytes;
        const auto at = to_size(d);
        most = limit > 0 ? std::max(most, p.arena_bytes[at] + p.persistent_bytes[at] - limit) : most;
    }
    return most;
}

TESSERA_INLINE bool fits(const graph_view& g, const cluster& on, const strategy& s, const lower_options& o) {
    return lacking_bytes(g, on, s, o) == 0;
}

TESSERA_INLINE bool waits_count(const cluster& on) {
    for (int d = 0; d < on.devices(); ++d) {
        if (on.class_of(d).serial_copies) {
            return true;
        }
    }
    return false;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
