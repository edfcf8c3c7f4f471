// SPDX-License-Identifier: Apache-2.0
// How much of every device's memory holds something at every time of a run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"
#include "tessera/simulate/simulate.hpp"

namespace tessera::simulation {

/// From `time` on (ns) a device holds so many bytes.
struct memory_sample {
    index_t time = 0;
    index_t bytes = 0;
    friend constexpr bool operator==(const memory_sample&, const memory_sample&) = default;
};

/// For every device its bytes over time, each list beginning at 0 and rising in time: parameters and optimizer state
/// all the time, every other tile from the start of the first task that touches it to the end of the last, and what the
/// plan keeps to the end of the run. The plan's own peak may be higher, since an arena has gaps. The timeline may be a
/// simulated or a measured one.
std::vector<std::vector<memory_sample>> memory_over_time(const plan& p, const timeline& t);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/memory_profile.inl"
#endif

#include "tessera/base/end_header.inl"
