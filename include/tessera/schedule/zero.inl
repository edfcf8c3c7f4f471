// SPDX-License-Identifier: Apache-2.0
// Bodies of zero.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/zero.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization zero(const std::vector<ready_gradient>& gradients, int stage, index_t bucket) {
    require(check_zero(stage, bucket));
    synchronization s;
    s.sum_at = stage == 1 ? sync_time::after_backward : sync_time::ready;
    s.update_at = stage == 1 ? sync_time::ready : sync_time::after_backward;
    s.shards_parameters = stage == 3;
    index_t filled = bucket;
    for (const ready_gradient& x : gradients) {
        if (filled >= bucket || stage > 1) { // a gradient's memory is free as soon as it is summed
            s.messages.push_back({exchange::sliced, 0, {}});
            filled = 0;
        }
        s.messages.back().slices.push_back({x.parameter, 0, 1});
        filled += x.elements;
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
