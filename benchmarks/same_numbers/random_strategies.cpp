// SPDX-License-Identifier: Apache-2.0
// 300 random legal strategies (or as many as the first argument says) for each network on 1 to 8 host devices, three training
// steps each, against one device in double: the largest relative differences. Formats and implementations are estimated in even
// runs and random in odd ones; every plan is run twice and must give the same bits.
#include "support/host_formats.hpp"
#include "support/sweep.hpp"

#include <cstdio>

int main(int argc, char** argv) {
    using namespace test_support;
    const int strategies = argc > 1 ? std::atoi(argv[1]) : 300;
    if (strategies < 1) {
        std::fprintf(stderr, "usage: random_strategies [strategies for each network]\n");
        return 2;
    }
    coverage seen;
    int failures = 0;
    int run = 0;
    std::printf("%-28s %10s %12s %12s %12s %8s\n", "network", "strategies", "loss", "gradients", "weights", "failed");
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        int failed = 0;
        const double allowed = allowed_rounding_of(c, allowed_rounding_with_adam);
        const auto make = [&](const ts::optimizer& how) { return host_in_formats_of(how, run++ / 2); };
        sweep(c, strategies, seen, make, [&](const sweep_case&, int number, int devices, const sweep_result& r) {
            worst[0] = std::max(worst[0], r.seen.loss);
            worst[1] = std::max(worst[1], r.seen.gradient);
            worst[2] = std::max(worst[2], r.seen.change);
            const bool good = r.failure.empty() && r.repeats && r.seen.copies_equal && r.seen.loss <= allowed &&
                              r.seen.gradient <= allowed && r.seen.change <= allowed;
            if (!good) {
                ++failed;
                std::fprintf(stderr, "%s, strategy %d on %d devices: %s loss %g gradient %g change %g (%s)%s\n",
                             c.name.c_str(), number, devices, r.failure.c_str(), r.seen.loss, r.seen.gradient,
                             r.seen.change, r.seen.worst.c_str(), r.repeats ? "" : " does not repeat");
            }
        });
        failures += failed;
        std::printf("%-28s %10d %12.2e %12.2e %12.2e %8d\n", c.name.c_str(), strategies, worst[0], worst[1], worst[2],
                    failed);
        std::fflush(stdout);
    }
    std::printf("operators split by sample %d, attribute %d, parameter %d, reduction %d, coupled %d; uneven %d, cut at "
                "points %d, "
                "replicated %d, several splits %d, partial passed on %d\n",
                seen.roles[0], seen.roles[1], seen.roles[2], seen.roles[3], seen.roles[4], seen.uneven, seen.cuts,
                seen.replicas, seen.several, seen.partial);
    return failures == 0 ? 0 : 1;
}
