// SPDX-License-Identifier: Apache-2.0
// Bodies of stale_gradients.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/stale_gradients.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization stale_gradients(const std::vector<ready_gradient>& gradients, int staleness,
                                               const bucket_sizes& size) {
    require(check_stale_gradients(staleness, size));
    synchronization s = buckets(gradients, size);
    s.staleness = staleness;
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
