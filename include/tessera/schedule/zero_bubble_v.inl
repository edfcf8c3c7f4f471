// SPDX-License-Identifier: Apache-2.0
// Bodies of zero_bubble_v.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/zero_bubble_v.hpp"

namespace tessera::schedule::detail {

TESSERA_INLINE void v_worker::backward(int chunk) {
    input(chunk);
    weight(chunk);
}

TESSERA_INLINE void v_worker::put(int chunk, action_kind what, int& next) {
    if (next < micro_batches_) {
        list_.push_back({stage_[chunk], next, what});
    }
    ++next;
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule zero_bubble_v(int workers, int micro_batches) {
    pipeline_schedule s = empty_schedule(workers, 2 * workers, micro_batches);
    const int count = micro_batches > 2 * workers - 1 ? micro_batches : 2 * workers - 1;
    for (int w = 0; w < workers; ++w) {
        detail::v_worker list(s.workers[to_size(w)], w, 2 * workers - 1 - w, micro_batches);
        for (int k = 0; k < 2 * (workers - w) - 1; ++k) {
            list.forward(0);
        }
        for (int k = 0; k < w; ++k) {
            list.forward(1);
            list.forward(0);
        }
        for (int k = 0; k < workers - w; ++k) {
            list.forward(1);
            list.backward(1);
        }
        while (list.forwards(1) < list.forwards(0) || list.forwards(0) < count) {
            if (list.forwards(0) < count) {
                list.forward(0);
            }
            list.backward(0);
            list.forward(1);
            list.backward(1);
        }
        for (int k = 0; k < w; ++k) {
            list.input(0);
            list.input(1);
        }
        for (int k = 0; k < workers - w; ++k) {
            list.backward(0);
        }
        for (const int chunk : {1, 0}) {
            while (list.owes_weights(chunk)) {
                list.weight(chunk);
            }
        }
    }
    return s;
}

} // namespace tessera::schedule

namespace tessera {

TESSERA_INLINE pipeline_schedule zero_bubble_v::make(int stages, int micro_batches) {
    return schedule::zero_bubble_v(stages / 2, micro_batches);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
