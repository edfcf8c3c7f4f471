// SPDX-License-Identifier: Apache-2.0
// Bodies of fill_drain.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/fill_drain.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule fill_drain(int stages, int micro_batches) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int i = 0; i < stages; ++i) {
        for (int m = 0; m < micro_batches; ++m) {
            s.workers[to_size(i)].push_back({i, m, action_kind::forward});
            s.workers[to_size(i)].push_back({i, m, action_kind::backward});
        }
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
