// SPDX-License-Identifier: Apache-2.0
// How fast the cores are at the moment. On a shared machine the other half of a core, or its clock, may be somebody else's: the same work
// then takes up to a third longer, for milliseconds or minutes.
#pragma once

#include "tessera/base/clock.hpp"
#include "tessera/execute/workers.hpp"

#include <cstring>
#include <vector>

namespace tessera::host {

/// Fixed work in the first-level cache (short copies of floats), done on every device at the same time.
class speed_probe {
public:
    explicit speed_probe(workers& threads)
        : threads_(threads), seconds_(static_cast<std::size_t>(threads.devices()) * 8, 0.0) {}

    /// Seconds that the work takes now, the mean over the devices; some 50 us.
    double operator()() {
        auto body = [this](int device) {
            float from[4096]{};
            float to[4096]{};
            const double begin = seconds_now();
            for (int i = 0; i < 120; ++i) {
                for (int k = 0; k + 9 < 4096; k += 9) {
                    std::memcpy(to + k, from + k + i % 2, 9 * sizeof(float));
                }
                asm volatile("" : : "r"(to) : "memory");
            }
            seconds_[static_cast<std::size_t>(device) * 8] = seconds_now() - begin;
        };
        threads_.run(body);
        double sum = 0;
        for (int d = 0; d < threads_.devices(); ++d) {
            sum += seconds_[static_cast<std::size_t>(d) * 8];
        }
        return sum / threads_.devices();
    }

private:
    workers& threads_;
    std::vector<double> seconds_; ///< a cache line for each device
};

} // namespace tessera::host
