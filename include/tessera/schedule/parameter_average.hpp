// SPDX-License-Identifier: Apache-2.0
// Averaging of parameters: Vishnu, Siegel and Daily, "Distributed TensorFlow with MPI" (arXiv 1603.02339).
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/layout/synchronization.hpp"

#include <string>

namespace tessera::schedule {

/// Every copy of a parameter is updated from its own device's samples, and every `every` steps all copies become their average. With plain SGD and
/// every = 1 that is the average of gradients, exactly; with more steps it is an asynchronous variant, whose copies differ in between. Lowering
/// refuses optimizers with momentum or moments, and a plan whose steps are no multiple of `every`. Throws tessera::error for less than every step.
inline synchronization parameter_average(int every) {
    if (every < 1) {
        throw error("tessera: parameters averaged every " + std::to_string(every) + " steps; say at least 1");
    }
    synchronization s;
    s.average_every = every;
    return s;
}

} // namespace tessera::schedule
