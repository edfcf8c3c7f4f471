// SPDX-License-Identifier: Apache-2.0
// Zero bubble, the variant of 1F1B's memory: backward is split, and gradients of weights fill the waits. Qi et al., "Zero bubble pipeline
// parallelism" (arXiv 2401.10241): ZB-H1.
#pragma once

#include "tessera/schedule/pipeline.hpp"

#include <algorithm>

namespace tessera::schedule {

/// 1F1B whose stage i takes the weights' gradients of a micro-batch i micro-batches after its inputs'. Idle (K-1)(forward + backward_input -
/// backward_weight) where the three take equally long; at most K micro-batches in flight everywhere.
inline pipeline_schedule zero_bubble_h1(int stages, int micro_batches) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int i = 0; i < stages; ++i) {
        std::vector<step>& list = s.workers[static_cast<std::size_t>(i)];
        take_turns(
            micro_batches, std::min(stages - 1 - i, micro_batches),
            [&](int m) {
                list.push_back({i, m, step_kind::forward});
            },
            [&](int m) {
                list.push_back({i, m, step_kind::backward_input});
                if (m >= i) {
                    list.push_back({i, m - i, step_kind::backward_weight});
                }
            });
        for (int m = std::max(0, micro_batches - i); m < micro_batches; ++m) {
            list.push_back({i, m, step_kind::backward_weight});
        }
    }
    return s;
}

} // namespace tessera::schedule
