// SPDX-License-Identifier: Apache-2.0
// Bodies of gems.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/gems.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule gems(int stages, int mini_batches, int parts) {
    require(check_pipeline(stages, mini_batches, parts));
    pipeline_schedule s = empty_schedule(stages, stages, mini_batches * parts);
    for (int m = 0; m < s.micro_batches; ++m) {
        s.mirrored.push_back(static_cast<char>(m / parts % 2));
    }
    for (int w = 0; w < stages; ++w) {
        std::vector<action>& list = s.workers[to_size(w)];
        for (int first = 0; first < s.micro_batches; first += parts) {
            const int stage = s.is_mirrored(first) ? stages - 1 - w : w;
            for (int j = 0; j < parts; ++j) {
                list.push_back({stage, first + j, action_kind::forward});
            }
            for (int j = parts; j-- > 0;) {
                list.push_back({stage, first + j, action_kind::backward});
            }
        }
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
