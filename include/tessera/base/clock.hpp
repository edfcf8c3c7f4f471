// SPDX-License-Identifier: Apache-2.0
// Time that only grows. (<chrono> costs 0.3 s to include.)
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>
#include <ctime>

namespace tessera {

/// Seconds since some moment in the past.
inline double seconds_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The same in whole nanoseconds.
inline std::int64_t nanoseconds_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
