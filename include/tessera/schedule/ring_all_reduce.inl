// SPDX-License-Identifier: Apache-2.0
// Bodies of ring_all_reduce.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/ring_all_reduce.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization ring_all_reduce(const std::vector<ready_gradient>& gradients) {
    synchronization s;
    for (const ready_gradient& x : gradients) {
        s.messages.push_back(detail::message_of(exchange::ring, x));
    }
    return s;
}

} // namespace tessera::schedule

namespace tessera {

TESSERA_INLINE synchronization ring_all_reduce::make(const std::vector<schedule::ready_gradient>& gradients,
                                                     const schedule::worker_speed&) {
    return schedule::ring_all_reduce(gradients);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
