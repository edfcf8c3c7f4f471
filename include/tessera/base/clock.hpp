// SPDX-License-Identifier: Apache-2.0
// Time that only grows. (<chrono> costs 0.3 s to include.)
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>
#include <ctime>

namespace tessera {

/// Seconds since some moment in the past.
double seconds_now();

/// The same in whole nanoseconds.
std::int64_t nanoseconds_now();

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/clock.inl"
#endif

#include "tessera/base/end_header.inl"
