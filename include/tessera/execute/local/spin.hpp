// SPDX-License-Identifier: Apache-2.0
// Waiting for other threads.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"

#include <sched.h>
#include <unistd.h>

namespace tessera {

namespace detail {

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Spins, then yields: with more devices than cores the one waited for needs the core.
template <class Condition>
void spin_until(Condition&& done, int spins) {
    for (int i = 0; !done(); ++i) {
        if (i < spins) {
            relax();
        } else {
            sched_yield();
        }
    }
}

/// Sleeps for a sixteenth of the time that has been waited since `began` (ns), 50 to 400 us: others want the core, and
/// nobody notices much later what has taken long.
void nap(std::int64_t began);

/// For waits since `began` (ns): yields for so many ns, then naps.
void yield_or_nap(std::int64_t began, std::int64_t yields_for);

/// Yields, then naps.
template <class Condition>
void nap_until(Condition&& done) {
    const std::int64_t began = nanoseconds_now();
    for (int i = 0; !done(); ++i) {
        if (i < 200) {
            sched_yield();
        } else {
            nap(began);
        }
    }
}

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/spin.inl"
#endif

#include "tessera/base/end_header.inl"
