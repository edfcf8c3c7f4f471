// SPDX-License-Identifier: Apache-2.0
// Two replicas in opposite directions, one micro-batch at a time: Jain et al., "GEMS" (SC 2020), MAST for two micro-batches, MASTER for more.
#pragma once

#include "tessera/schedule/pipeline.hpp"

namespace tessera::schedule {

/// Micro-batches take turns between the replica whose stage i lies on worker i and the mirrored one: the second goes forward down the workers
/// that the first frees while it goes backward. One micro-batch's activations at a time, parameters twice. Takes
/// K Tf + M K Tb + (M-1) Tf for M micro-batches.
inline pipeline_schedule gems(int stages, int micro_batches) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int m = 0; m < micro_batches; ++m) {
        s.mirrored.push_back(static_cast<char>(m % 2));
    }
    for (int w = 0; w < stages; ++w) {
        for (int m = 0; m < micro_batches; ++m) {
            const int stage = s.is_mirrored(m) ? stages - 1 - w : w;
            s.workers[static_cast<std::size_t>(w)].push_back({stage, m, step_kind::forward});
            s.workers[static_cast<std::size_t>(w)].push_back({stage, m, step_kind::backward});
        }
    }
    return s;
}

} // namespace tessera::schedule
