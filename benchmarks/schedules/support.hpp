// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of schedules share: arenas with room behind them, and steps measured and predicted on this host.
#pragma once

#include "benchmarks/support/timing.hpp"
#include "support/high_water.hpp"
#include "tessera/backend/host/measure/this_host.hpp"
#include "tessera/host.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace schedules {

namespace ts = tessera;
namespace simulation = tessera::simulation;
using ts::index_t;

/// Bytes behind every arena, so that a step that went past what is predicted would be seen.
inline constexpr index_t beyond = 1 << 20;

/// The host backend with that room.
struct roomy_backend : ts::host::backend {
    using ts::host::backend::backend;
    static ts::memory_source memory() {
        return {[](void*, int, index_t bytes) -> void* {
                    const auto size = ts::to_size(bytes + beyond + ts::arena_alignment);
                    const auto rounded = size / ts::to_size(ts::arena_alignment) * ts::to_size(ts::arena_alignment);
                    void* m = std::aligned_alloc(ts::to_size(ts::arena_alignment), rounded);
                    if (m == nullptr) {
                        throw ts::error("no memory for an arena of " + std::to_string(bytes) + " bytes");
                    }
                    std::memset(m, 0, rounded);
                    return m;
                },
                [](void*, int, void* m) { std::free(m); }, nullptr};
    }
};

using session = ts::session<roomy_backend>;

inline double megabytes(index_t bytes) { return static_cast<double>(bytes) * 1e-6; }

/// Persistent bytes and arena of the fullest device.
inline index_t peak_of(const ts::plan& p) {
    index_t most = 0;
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        most = std::max(most, p.arena_bytes[d] + p.persistent_bytes[d]);
    }
    return most;
}

/// Milliseconds of a step: the median of those made in so many seconds.
template <class Step>
double step_milliseconds(Step&& step, double seconds) {
    return 1e3 * ts::time_runs(step, {.warm_up = 1, .precision = 0, .seconds = seconds, .sample_seconds = 0}).median;
}

} // namespace schedules
