// SPDX-License-Identifier: Apache-2.0
// Pipelines on the host backend compute what one device computes that runs the same micro-batches, in estimated and random formats.
// TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/pipeline_sweep.hpp"

#include "tessera/backend/host/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Adam divides by the gradient's own size: rounding differences of nearly vanishing gradients reach the weights whole.
double allowed(const sweep_case& c) { return c.how.which == ts::optimizer::kind::adam ? 1e-3 : 1e-4; }

} // namespace

TEST_CASE("random pipelines in random formats give the numbers of one device, twice the same bits") {
    coverage seen;
    const int pipelines = strategy_count(8);
    int number_of_run = 0;
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        const auto make = [&](const ts::optimizer& how) {
            // Each pipeline is run twice in a row, in the same formats.
            const int run = number_of_run++ / 2;
            ts::host::backend_options options;
            options.how = run % 2 == 0 ? ts::host::tuning::estimate : ts::host::tuning::random;
            options.seed = static_cast<std::uint64_t>(run);
            return ts::host::backend(how, options);
        };
        sweep_pipelines(c, pipelines, seen, make,
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
                            worst[0] = std::max(worst[0], r.seen.loss);
                            worst[1] = std::max(worst[1], r.seen.gradient);
                            worst[2] = std::max(worst[2], r.seen.change);
                        });
        MESSAGE(c.name << ": " << pipelines << " pipelines, largest relative difference of losses " << worst[0]
                       << ", gradients " << worst[1] << ", changes of weights " << worst[2]);
    }
}
