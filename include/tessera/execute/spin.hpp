// SPDX-License-Identifier: Apache-2.0
// Waiting for other threads.
#pragma once

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

/// Yields, then looks every 50 us: others want the core for as long as what is waited for takes.
template <class Condition>
void sleep_until(Condition&& done) {
    for (int i = 0; !done(); ++i) {
        i < 200 ? void(sched_yield()) : void(usleep(50));
    }
}

} // namespace detail

} // namespace tessera
