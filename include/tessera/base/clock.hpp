// SPDX-License-Identifier: Apache-2.0
// Time that only grows. (<chrono> costs 0.3 s to include.)
#pragma once

#include <ctime>

namespace tessera {

/// Seconds since some moment in the past.
inline double seconds_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

} // namespace tessera
