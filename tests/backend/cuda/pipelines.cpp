// SPDX-License-Identifier: Apache-2.0
// Pipelines as lists of calls compute what one device computes that runs the same micro-batches, whatever the schedule and the placement
// of the devices on GPUs. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/pipeline_sweep.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Adam divides by the gradient's own size: rounding differences of nearly vanishing gradients reach the weights whole.
double allowed(const sweep_case& c) { return c.how.which == ts::optimizer::kind::adam ? 1e-3 : 1e-4; }

} // namespace

TEST_CASE("random pipelines give the numbers of one device, on one GPU and on several, twice the same bits") {
    coverage seen;
    const int pipelines = strategy_count(2);
    std::set<std::string> schedules;
    int run = 0;
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        sweep_pipelines(
            c, pipelines, seen,
            [&](const ts::optimizer& how) { return emulated_backend(how, gpu_placement(4, run++ / 2 % 3)); },
            [&](const sweep_case& of, const pipeline_case& p, int devices, const sweep_result& r) {
                CAPTURE(of.name);
                CAPTURE(p.schedule);
                CAPTURE(p.stages);
                CAPTURE(p.how.micro_batches);
                CAPTURE(p.recomputed);
                CAPTURE(devices);
                CAPTURE(r.seen.worst);
                CHECK(r.failure == "");
                CHECK(r.seen.loss <= allowed(of));
                CHECK(r.seen.gradient <= allowed(of));
                CHECK(r.seen.change <= allowed(of));
                CHECK(r.seen.copies_equal);
                CHECK(r.repeats);
                schedules.insert(p.schedule);
                worst[0] = std::max(worst[0], r.seen.loss);
                worst[1] = std::max(worst[1], r.seen.gradient);
                worst[2] = std::max(worst[2], r.seen.change);
            });
        MESSAGE(c.name << ": " << pipelines << " pipelines, largest relative difference of losses " << worst[0]
                       << ", gradients " << worst[1] << ", changes of weights " << worst[2]);
    }
    CHECK(schedules.size() >= 4);
}
