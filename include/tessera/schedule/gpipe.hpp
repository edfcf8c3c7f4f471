// SPDX-License-Identifier: Apache-2.0
// Fill and drain: Huang et al., "GPipe" (arXiv 1811.06965), section 2. With one micro-batch it is plain model parallelism.
#pragma once

#include "tessera/schedule/pipeline.hpp"

namespace tessera::schedule {

/// Which micro-batches recompute what their operators say they recompute (torchgpipe's names for GPipe's checkpoints).
enum class rematerialize : std::uint8_t {
    all,
    except_last, ///< the last micro-batch goes backward at once: it would gain nothing
};

/// All micro-batches forward, then all backward, the last one first. Idle share (K-1)/(M+K-1), M micro-batches in flight everywhere.
inline pipeline_schedule gpipe(int stages, int micro_batches, rematerialize which = rematerialize::except_last) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int i = 0; i < stages; ++i) {
        std::vector<step>& list = s.workers[static_cast<std::size_t>(i)];
        for (int m = 0; m < micro_batches; ++m) {
            list.push_back({i, m, step_kind::forward});
        }
        for (int m = micro_batches - 1; m >= 0; --m) {
            list.push_back({i, m, step_kind::backward});
        }
    }
    s.keeps.assign(static_cast<std::size_t>(micro_batches), 0);
    s.keeps.back() = which == rematerialize::except_last ? 1 : 0;
    return s;
}

} // namespace tessera::schedule
