// SPDX-License-Identifier: Apache-2.0
// Bodies of device_turn.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/device_turn.hpp"

namespace tessera {

TESSERA_INLINE device_turn::device_turn(workers& threads, kind mode) : all_(threads.calls()) {
    if (threads.group() == nullptr || mode == waits) {
        all_.take();
    } else if (!all_.try_take()) {
        throw error("tessera: two threads of this rank call a trainer at the same time, and ranks must call in one "
                    "order; call it from "
                    "one thread, or put a lock of your own around calls that come in the same order in all ranks");
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
