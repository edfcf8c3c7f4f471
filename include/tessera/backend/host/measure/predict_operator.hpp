// SPDX-License-Identifier: Apache-2.0
// The prediction of an operator in shards on this host, from the measured times of its tasks by themselves.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/this_host.hpp"
#include "tessera/execute/measure/operator_timing.hpp"

namespace tessera::host {

/// What the forward and the backward run of a sharded<...> on the host take by simulation: every kind of task is
/// measured by itself, and the threads that run them as thread_costs_of() says. What the backend's profile lacks is
/// measured now, which takes a while.
template <class Sharded>
operator_prediction predict_operator(Sharded& op) {
    task_clock clock(op.backend(), op.devices().threads(), {.rounds = 5});
    clock.learn(op.bound(), op.network());
    const plan_times all = clock.times(op.bound(), op.network());
    const simulation::thread_costs around = thread_costs_of(op.backend(), op.devices(), op.bound().devices);
    return tessera::detail::predict_parts(op, [&](const plan& part, int first) {
        const auto begin = all.tasks.begin() + first;
        const std::vector<simulation::thread_time> own(begin, begin + static_cast<std::ptrdiff_t>(part.tasks.size()));
        return simulation::simulate(part, own, around);
    });
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
