// SPDX-License-Identifier: Apache-2.0
// Where a step's time goes: the chain of activities that determines its end.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/simulate.hpp"

namespace tessera::simulation {

/// ns of the critical path; they add up to the makespan.
struct critical_time {
    index_t compute = 0;
    index_t transfer = 0;        ///< of activations and gradients
    index_t synchronization = 0; ///< of parameters: sums, updates, copies
    index_t waiting = 0;         ///< for lanes that others use
    friend constexpr bool operator==(const critical_time&, const critical_time&) = default;
};

/// Walks back from the activity that ends last, each time to one that it waited for until it was ready.
critical_time critical_path(const plan& p, task_activities& activities);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/critical_path.inl"
#endif

#include "tessera/base/end_header.inl"
