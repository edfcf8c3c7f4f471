// SPDX-License-Identifier: Apache-2.0
// Time that only grows. <chrono> takes 210 ms behind tessera.hpp (g++ 12, median of 10), and 15 MB of the compiler's
// memory in host.hpp; what asks for the time are two functions.
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
