// SPDX-License-Identifier: Apache-2.0
// Bodies of measured_tasks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/measured_tasks.hpp"

namespace tessera::host {

TESSERA_INLINE double measured_tasks::predict(const plan& p, const graph_view& g) {
    clock_.learn(p, g);
    const plan_times t = clock_.times(p, g);
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        if (p.tasks[i].kind() == task_kind::compute && p.tasks[i].what != pass::update) {
            known_.set(simulation::signature_of(g, p.tiles, p.tasks[i]), t.tasks[i].alone);
        }
    }
    const simulation::thread_costs around = thread_costs_of(backend_, team_, p.devices);
    return static_cast<double>(simulation::simulate(p, t.tasks, around).makespan) * 1e-9;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
