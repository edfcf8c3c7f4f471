// SPDX-License-Identifier: Apache-2.0
// Bodies of p3.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/p3.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization p3(const std::vector<ready_gradient>& gradients, const p3_rule& rule) {
    synchronization s =
        prioritized_slices(gradients, {exchange::server, rule.servers, rule.slice, rule.speed.bytes_per_ns, 0});
    s.urgent_first = true;
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
