// SPDX-License-Identifier: Apache-2.0
// Pipelines as lists of calls compute what one device computes that runs the same micro-batches, whatever the schedule
// and the placement of the devices on GPUs. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/sweep_check.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("random pipelines give the numbers of one device, on one GPU and on several, twice the same bits") {
    const pipeline_coverage seen = hold_pipelines(
        strategy_count(2),
        [](const ts::optimizer& update, int run) { return emulated_backend(update, gpu_placement(4, run % 3)); },
        allowed_rounding_with_adam);
    CHECK(seen.schedules.size() >= 4);
}
