// SPDX-License-Identifier: Apache-2.0
// Bodies of spin.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/spin.hpp"

namespace tessera::detail {

TESSERA_INLINE void nap(std::int64_t began) {
    const std::int64_t part = (nanoseconds_now() - began) / 16'000;
    usleep(static_cast<unsigned>(part < 50 ? 50 : part > 400 ? 400 : part));
}

TESSERA_INLINE void yield_or_nap(std::int64_t began, std::int64_t yields_for) {
    if (nanoseconds_now() - began > yields_for) {
        nap(began);
    } else {
        sched_yield();
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
