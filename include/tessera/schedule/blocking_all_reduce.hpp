// SPDX-License-Identifier: Apache-2.0
// Blocking synchronization after the backward pass: Vishnu, Siegel and Daily, "Distributed TensorFlow with MPI" (arXiv
// 1603.02339).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// When all has gone backward, one all-reduce for each gradient, in the order of the parameters; every worker updates
/// its whole copy. Each sends 2(n-1)/n S bytes, none of it beside computation.
synchronization blocking_all_reduce(const std::vector<ready_gradient>& gradients);

inline constexpr policy_record blocking_all_reduce_record{
    .name = "blocking-all-reduce",
    .title = "blocking all-reduce",
    .about = "one all-reduce for each gradient when all has gone backward",
    .make = [](const policy_setting& x) { return blocking_all_reduce(x.gradients); },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<blocking_all_reduce>.
struct blocking_all_reduce {
    static constexpr problem check() { return {}; }
    static constexpr sync_modes modes() { return {true, sync_time::after_backward, sync_time::ready, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&);
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/blocking_all_reduce.inl"
#endif

#include "tessera/base/end_header.inl"
