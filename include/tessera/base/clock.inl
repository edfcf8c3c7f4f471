// SPDX-License-Identifier: Apache-2.0
// Bodies of clock.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"

namespace tessera {

TESSERA_INLINE double seconds_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TESSERA_INLINE std::int64_t nanoseconds_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
