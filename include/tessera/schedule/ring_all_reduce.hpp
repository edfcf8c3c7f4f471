// SPDX-License-Identifier: Apache-2.0
// Ring all-reduce round by round: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms" (JPDC 69(2), 2009).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// Every gradient by itself as soon as it is ready, in 2(n-1) rounds of S/n bytes from each worker to the next, each of
/// them a task of the plan: each worker sends and receives 2(n-1)/n S.
synchronization ring_all_reduce(const std::vector<ready_gradient>& gradients);

inline constexpr policy_record ring_all_reduce_record{
    .name = "ring-all-reduce",
    .title = "ring all-reduce",
    .about = "each gradient in chunks around a ring as soon as it is ready",
    .make = [](const policy_setting& x) { return ring_all_reduce(x.gradients); },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<ring_all_reduce>.
struct ring_all_reduce {
    static constexpr problem check() { return {}; }
    static constexpr sync_modes modes() { return {true, sync_time::ready, sync_time::ready, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&);
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/ring_all_reduce.inl"
#endif

#include "tessera/base/end_header.inl"
