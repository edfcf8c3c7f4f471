// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: clocks, medians, cores.
#pragma once

#include "tessera/execute/measure/timing.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace benchmarks {

using clock_type = std::chrono::steady_clock;

/// Milliseconds since a point in time.
inline double milliseconds_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

/// Milliseconds that `what` takes.
template <class What>
double milliseconds(What&& what) {
    const auto begin = clock_type::now();
    what();
    return milliseconds_since(begin);
}

/// The middle one, of an even number the upper one; 0 of none.
inline double median(std::vector<double> x) { return tessera::timing_of(std::move(x)).median; }

/// A quarter of them are less; 0 of none.
inline double lower_quartile(std::vector<double> x) { return tessera::timing_of(std::move(x)).lower_quartile; }

/// This thread runs on the cores [first, last] alone; where that is not allowed, it floats.
inline void use_cores(int first, int last) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int core = first; core <= last; ++core) {
        CPU_SET(static_cast<unsigned>(core), &set);
    }
    static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
}

/// Keeps this thread on the first of its cores while it lives: device 0 is the calling thread, and the workers pin the
/// others. Threads made meanwhile inherit that core, so make them before.
class on_first_core {
public:
    on_first_core() {
        CPU_ZERO(&before_);
        known_ = pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) == 0;
        for (int core = 0; known_ && core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(static_cast<unsigned>(core), &before_)) {
                use_cores(core, core);
                return;
            }
        }
    }
    ~on_first_core() {
        if (known_) {
            static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof before_, &before_));
        }
    }
    on_first_core(const on_first_core&) = delete;
    on_first_core& operator=(const on_first_core&) = delete;

private:
    cpu_set_t before_{};
    bool known_ = false;
};

} // namespace benchmarks
