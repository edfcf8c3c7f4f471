// SPDX-License-Identifier: Apache-2.0
// Bodies of interleaved.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/interleaved.hpp"

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule interleaved(int workers, int chunks, int micro_batches) {
    require(check_interleaved(workers, chunks, micro_batches));
    pipeline_schedule s = empty_schedule(workers, workers * chunks, micro_batches);
    const int total = micro_batches * chunks;
    const auto make = [&](int worker, int k, bool backward) {
        const int group = workers * chunks;
        const int chunk = k % group / workers;
        const int micro_batch = k / group * workers + k % workers;
        const int own = backward ? chunks - 1 - chunk : chunk;
        return action{own * workers + worker, micro_batch, backward ? action_kind::backward : action_kind::forward};
    };
    for (int w = 0; w < workers; ++w) {
        std::vector<action>& list = s.workers[to_size(w)];
        // With one chunk this is 1F1B; with more, backward starts when the last chunk has had its turn.
        const int ahead =
            std::min(chunks > 1 ? (workers - 1 - w) * 2 + (chunks - 1) * workers : workers - 1 - w, total);
        take_turns(
            total, ahead, [&](int k) { list.push_back(make(w, k, false)); },
            [&](int k) { list.push_back(make(w, k, true)); });
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
