// SPDX-License-Identifier: Apache-2.0
// What refine asks of a backend that can time tasks by themselves: predictions of steps, this machine, and task times
// for a search.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/this_host.hpp"
#include "tessera/simulate/task_time.hpp"

namespace tessera::host {

/// Predicts on the host. Measures what the backend's profile lacks, so that the first question about a plan takes a
/// while.
class measured_tasks {
public:
    measured_tasks(backend& b, const local_devices& team)
        : backend_(b), team_(team), clock_(b, team_.threads(), {.rounds = 5}) {}

    /// Seconds that a step of a bound and finished plan will take. What its compute tasks take is remembered for
    /// times().
    double predict(const plan& p, const graph_view& g);

    /// This host as a machine.
    device_graph machine() { return this_host(backend_, team_); }
    /// Measured times of the tasks met so far, and for others the roofline at the rates of machine(). The object must
    /// outlive them.
    simulation::task_times times() const { return {&known_, reached_here()}; }

private:
    backend& backend_;
    local_devices team_;
    task_clock clock_;
    cost::profile known_;
};

/// Found by refine.
inline measured_tasks measured_tasks_of(backend& b, const local_devices& team) { return measured_tasks(b, team); }

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/measure/measured_tasks.inl"
#endif

#include "tessera/base/end_header.inl"
