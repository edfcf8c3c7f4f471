// SPDX-License-Identifier: Apache-2.0
// Part 1: the numbers of one device. Every network under random strategies on 1 to 8 virtual shards of one card against one device in
// double; every row of the operator table under random splits against the reference backend.
#pragma once

#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"
#include "support/sweep.hpp"

#include "tessera/backend/cuda/backend.hpp"
#include "tessera/backend/reference/backend.hpp"

#include <cstdio>

namespace gpu_check {

namespace ts = tessera;
using namespace test_support;

inline int check_networks(int strategies) {
    coverage seen;
    int failures = 0;
    std::printf("%-28s %10s %12s %12s %12s %8s\n", "network", "strategies", "loss", "gradients", "weights", "failed");
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        int failed = 0;
        const double allowed = c.how.which == ts::optimizer::kind::adam ? 1e-3 : 1e-4;
        const auto make = [](const ts::optimizer& how) {
            return ts::cuda::backend(how, {.gpus = gpu_placement(8, 0), .measure = false});
        };
        sweep(c, strategies, seen, make, [&](const sweep_case&, int number, int devices, const sweep_result& r) {
            worst[0] = std::max(worst[0], r.seen.loss);
            worst[1] = std::max(worst[1], r.seen.gradient);
            worst[2] = std::max(worst[2], r.seen.change);
            const bool good = r.failure.empty() && r.repeats && r.seen.copies_equal && r.seen.loss <= allowed &&
                              r.seen.gradient <= allowed && r.seen.change <= allowed;
            failed += good ? 0 : 1;
            if (!good) {
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
    return failures;
}

inline int check_operators() {
    coverage seen;
    int failures = 0;
    double worst = 0;
    for (const tests::op_case& row : tests::op_table()) {
        const ts::graph network = graph_of(row);
        const ts::graph_view g = network.view();
        const batch_data data(g, 3);
        for (std::uint64_t seed = 0; seed < 6; ++seed) {
            const int devices = 1 + static_cast<int>(seed % 4) * 2;
            const ts::strategy s = random_strategy(g, devices, seed + 90, seen);
            ts::reference::backend plain;
            ts::cuda::backend gpu({}, {.gpus = gpu_placement(devices, 0), .measure = seed == 0});
            const auto expected = values_after(plain, g, s, devices, data);
            const auto got = values_after(gpu, g, s, devices, data);
            for (const auto& [key, values] : expected) {
                const double difference = relative(got.at(key), values, 1e-6);
                worst = difference > worst ? difference : worst;
                if (!(difference < 1e-4)) {
                    ++failures;
                    std::fprintf(stderr, "%s, split %d, result %d: relative difference %g\n", row.name.c_str(),
                                 static_cast<int>(seed), key, difference);
                }
            }
        }
    }
    std::printf("%-28s %10zu %12s %12.2e %12s %8d\n", "operator table", tests::op_table().size(), "", worst, "",
                failures);
    return failures;
}

inline int correctness(int strategies) {
    const int failures = check_operators() + check_networks(strategies < 1 ? 1 : strategies);
    std::printf(failures == 0 ? "all equal within 1e-4 (Adam 1e-3)\n" : "%d failed\n", failures);
    return failures == 0 ? 0 : 1;
}

} // namespace gpu_check
