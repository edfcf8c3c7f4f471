// SPDX-License-Identifier: Apache-2.0
// Bodies of blocking_all_reduce.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/blocking_all_reduce.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization blocking_all_reduce(const std::vector<ready_gradient>& gradients) {
    synchronization s;
    s.sum_at = sync_time::after_backward;
    for (std::size_t i = gradients.size(); i-- > 0;) {
        s.messages.push_back(detail::message_of(exchange::all_reduce, gradients[i]));
    }
    return s;
}

} // namespace tessera::schedule

namespace tessera {

TESSERA_INLINE synchronization blocking_all_reduce::make(const std::vector<schedule::ready_gradient>& gradients,
                                                         const schedule::worker_speed&) {
    return schedule::blocking_all_reduce(gradients);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
