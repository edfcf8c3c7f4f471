// SPDX-License-Identifier: Apache-2.0
// Every synchronization policy with random splits, pipelines and schedules (or as many for each policy and network as
// the first argument says, 8 otherwise) on 1 to 4 host devices, three training steps each, against one device that runs
// the same micro-batches in double. Every plan is run twice and must give the same bits; every other one has
// communication beside computation. The last column counts combinations of policy, schedule and splits.
#include "support/policies.hpp"
#include "support/pipeline_sweep.hpp"

#include "tessera/backend/host/backend.hpp"

#include <cstdio>

int main(int argc, char** argv) {
    using namespace test_support;
    const int each = argc > 1 ? std::atoi(argv[1]) : 8;
    if (each < 1) {
        std::fprintf(stderr, "usage: policies [strategies for each policy and network]\n");
        return 2;
    }
    const auto make = [](const ts::optimizer& update) { return ts::host::backend(update); };
    coverage seen;
    int number = 0;
    int failures = 0;
    int combinations = 0;
    std::printf("%-30s %12s %12s %12s %8s %13s\n", "policy", "loss", "gradients", "weights", "failed", "combinations");
    const std::vector<sweep_case> cases = sweep_cases();
    const auto names = small_policies(cases[0].network.view(), 2);
    std::vector<oracles> expected(cases.begin(), cases.end());
    for (std::size_t policy = 0; policy < names.size(); ++policy) {
        double worst[3] = {};
        int failed = 0;
        int run = 0;
        for (std::size_t k = 0; k < cases.size(); ++k) {
            const sweep_case& c = cases[k];
            const ts::graph_view g = c.network.view();
            const double allowed = allowed_rounding_of(c, allowed_rounding_with_adam);
            for (int i = 0; i < each; ++i) {
                const int devices = 1 + number % 4;
                pipeline_case p = random_pipeline(g, devices, 9000 + static_cast<std::uint64_t>(number), seen);
                p.how.sync = small_policies(g, devices)[policy].second;
                p.how.overlap = number++ % 2 == 1;
                const sweep_result r = expected[k].run(p.how, devices, make);
                ++run;
                worst[0] = std::max(worst[0], r.seen.loss);
                worst[1] = std::max(worst[1], r.seen.gradient);
                worst[2] = std::max(worst[2], r.seen.change);
                const bool good = r.failure.empty() && r.repeats && r.seen.copies_equal && r.seen.loss <= allowed &&
                                  r.seen.gradient <= allowed && r.seen.change <= allowed;
                if (!good) {
                    ++failed;
                    std::fprintf(stderr,
                                 "%s, %s, %s, number %d on %d devices: %s loss %g gradient %g change %g (%s)%s\n",
                                 names[policy].first.c_str(), c.name.c_str(), p.schedule.c_str(), number - 1, devices,
                                 r.failure.c_str(), r.seen.loss, r.seen.gradient, r.seen.change, r.seen.worst.c_str(),
                                 r.repeats ? "" : " does not repeat");
                }
            }
        }
        failures += failed;
        combinations += run;
        std::printf("%-30s %12.2e %12.2e %12.2e %8d %13d\n", names[policy].first.c_str(), worst[0], worst[1], worst[2],
                    failed, run);
        std::fflush(stdout);
    }
    std::printf("%d combinations, %d failed\n", combinations, failures);
    return failures == 0 ? 0 : 1;
}
