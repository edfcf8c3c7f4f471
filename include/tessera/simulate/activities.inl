// SPDX-License-Identifier: Apache-2.0
// Bodies of activities.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/activities.hpp"

namespace tessera::simulation {

TESSERA_INLINE std::vector<index_t> activity_trace::lane_bytes(const cluster& on) const {
    std::vector<index_t> bytes(to_size(on.lanes()), 0);
    for (const busy_span& b : spans) {
        if (b.lane >= 0 && b.lane < on.lanes()) {
            bytes[to_size(b.lane)] += (b.end - b.start) * on.lane_megabytes(b.lane) / 1000;
        }
    }
    return bytes;
}

TESSERA_INLINE activity_trace trace(const graph_view& g, const plan& p, const cluster& on, const task_times& times) {
    task_activities activities(on, g, times);
    const auto& [a, s] = run_activities(p, activities);
    activity_trace t;
    t.lanes = on.lanes();
    t.makespan = s.makespan;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        const activity& x = a.items[i];
        const activity_graph::covered& c = a.tasks[i];
        if (x.device >= 0) {
            t.spans.push_back({c.first, c.count, x.device, -1, s.start[i], s.end[i]});
        }
        for (const lane_use& u : x.lanes) {
            if (u.busy > 0 && !u.meanwhile && !activities.is_own_engine(x, u)) {
                t.spans.push_back({c.first, c.count, -1, u.lane, s.start[i], s.start[i] + u.busy});
            }
        }
    }
    return t;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
