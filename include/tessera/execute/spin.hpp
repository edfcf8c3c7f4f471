// SPDX-License-Identifier: Apache-2.0
// Waiting without sleep.
#pragma once

#include <sched.h>

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

} // namespace detail

} // namespace tessera
