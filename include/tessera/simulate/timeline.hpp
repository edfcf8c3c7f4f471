// SPDX-License-Identifier: Apache-2.0
// When every task of a plan starts and ends: predicted by a simulation, or measured by the executor (see
// execute/local/executor.hpp).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

#include <vector>

namespace tessera::simulation {

struct task_span {
    index_t start = 0; ///< ns from the start of the run
    index_t end = 0;
    friend constexpr bool operator==(const task_span&, const task_span&) = default;
};

/// One run of a plan, as predicted or as measured. Tasks are numbered as in the plan, so that two timelines of one plan
/// compare task by task.
struct timeline {
    std::vector<task_span> tasks;     ///< of an update in a group: from its reduce-scatter to its all-gather
    index_t makespan = 0;             ///< ns
    index_t begin = 0;                ///< of a measured run: when it began, ns on the clock of nanoseconds_now()
    std::vector<index_t> device_busy; ///< ns that each device computes, and what else is in its first list
    std::vector<index_t>
        lane_busy; ///< ns that each lane of the cluster is in use; then each device's copies and updates beside its
                   ///< computation, servers, each device's link to its host and back, and each host's
                   ///< processor; empty if measured
    int collectives = 0; ///< reduce-scatters and all-gathers of parameters, each priced as one; an all-reduce is both
    std::vector<index_t> peak_bytes; ///< memory of each device, if the plan's memory has been planned
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
