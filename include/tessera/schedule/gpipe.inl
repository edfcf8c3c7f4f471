// SPDX-License-Identifier: Apache-2.0
// Bodies of gpipe.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/gpipe.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule gpipe(int stages, int micro_batches, rematerialize which) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int i = 0; i < stages; ++i) {
        std::vector<action>& list = s.workers[to_size(i)];
        for (int m = 0; m < micro_batches; ++m) {
            list.push_back({i, m, action_kind::forward});
        }
        for (int m = micro_batches - 1; m >= 0; --m) {
            list.push_back({i, m, action_kind::backward});
        }
    }
    keep_results(s, which);
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
