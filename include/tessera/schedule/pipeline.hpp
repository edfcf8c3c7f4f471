// SPDX-License-Identifier: Apache-2.0
// What the schedules' files share: an empty schedule of a checked size.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/layout/pipeline_schedule.hpp"

#include <string>

namespace tessera::schedule {

/// A schedule without steps. Throws tessera::error where there is no worker, stage or micro-batch.
inline pipeline_schedule empty_schedule(int workers, int stages, int micro_batches) {
    if (workers < 1 || stages < 1 || micro_batches < 1) {
        throw error("tessera: a pipeline of " + std::to_string(workers) + " workers, " + std::to_string(stages) +
                    " stages and " + std::to_string(micro_batches) + " micro-batches; each must be at least 1");
    }
    pipeline_schedule s;
    s.stages = stages;
    s.micro_batches = micro_batches;
    s.workers.resize(static_cast<std::size_t>(workers));
    return s;
}

} // namespace tessera::schedule
