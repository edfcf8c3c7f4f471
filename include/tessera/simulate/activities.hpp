// SPDX-License-Identifier: Apache-2.0
// A simulation seen closely: when every activity runs, and which lanes it uses. A timeline sums this up by tasks.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/simulate.hpp"

namespace tessera::simulation {

/// One stretch of time of a device or a lane.
struct busy_span {
    int task = -1;     ///< of the plan: the first that the activity is part of ...
    int count = 1;     ///< ... of so many
    int device = -1;   ///< that computes (or, where it copies in turn, copies), or -1
    int lane = -1;     ///< that is in use (lanes of the cluster, then one of each device), or -1
    index_t start = 0; ///< ns
    index_t end = 0;
};

/// All stretches of a plan's run as simulate() predicts it, each device's and each lane's without overlap, and its
/// makespan.
struct activity_trace {
    std::vector<busy_span> spans;
    int lanes = 0; ///< the cluster's; numbers from here on are what devices do beside their lists
    index_t makespan = 0;

    /// Bytes that lanes of the cluster moved, as far as their time in use tells: for each transfer less than a
    /// nanosecond's worth is lost.
    std::vector<index_t> lane_bytes(const cluster& on) const;
};

/// Throws what simulate() throws.
activity_trace trace(const graph_view& g, const plan& p, const cluster& on, const task_times& times = {});

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/activities.inl"
#endif

#include "tessera/base/end_header.inl"
