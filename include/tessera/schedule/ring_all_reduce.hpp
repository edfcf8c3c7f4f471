// SPDX-License-Identifier: Apache-2.0
// Ring all-reduce step by step: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms" (JPDC 69(2), 2009).
#pragma once

#include "tessera/schedule/policy_record.hpp"

namespace tessera::schedule {

/// Every gradient by itself as soon as it is ready, in 2(n-1) steps of S/n bytes from each worker to the next, each of them a task of the plan:
/// each worker sends and receives 2(n-1)/n S.
inline synchronization ring_all_reduce(const std::vector<ready_gradient>& gradients) {
    synchronization s;
    for (const ready_gradient& x : gradients) {
        s.messages.push_back(detail::message_of(exchange::ring, x));
    }
    return s;
}

inline constexpr policy_record ring_all_reduce_record{
    .name = "ring-all-reduce",
    .title = "ring all-reduce",
    .about = "each gradient step by step around a ring as soon as it is ready",
    .make = [](const policy_setting& x) { return ring_all_reduce(x.gradients); },
};

} // namespace tessera::schedule
