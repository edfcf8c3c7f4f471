// SPDX-License-Identifier: Apache-2.0
// Bodies of one_forward_one_backward.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/one_forward_one_backward.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule one_forward_one_backward(int stages, int micro_batches) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int i = 0; i < stages; ++i) {
        std::vector<action>& list = s.workers[to_size(i)];
        take_turns(
            micro_batches, std::min(stages - 1 - i, micro_batches),
            [&](int m) {
                list.push_back({i, m, action_kind::forward});
            },
            [&](int m) {
                list.push_back({i, m, action_kind::backward});
            });
    }
    return s;
}

} // namespace tessera::schedule

namespace tessera {

TESSERA_INLINE pipeline_schedule one_forward_one_backward::make(int stages, int micro_batches) {
    return schedule::one_forward_one_backward(stages, micro_batches);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
