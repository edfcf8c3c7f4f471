// SPDX-License-Identifier: Apache-2.0
// Law 6 for the CUDA backend, without a GPU: under any strategy and any placement of its devices on GPUs, the list of calls computes
// what one device computes. The vendor's functions are taken at their word; ours run as they are written.
#include "support/cuda_emulated_backend.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

constexpr double allowed = 1e-4;

/// Where the devices of a plan lie: all on one GPU, each on its own, or two on each.
std::vector<int> placement(int devices, int kind) {
    std::vector<int> gpus;
    for (int d = 0; d < devices; ++d) {
        gpus.push_back(kind == 0 ? 0 : kind == 1 ? devices - 1 - d : d / 2);
    }
    return gpus;
}

} // namespace

TEST_CASE("random strategies give the numbers of one device, on one GPU and on several") {
    coverage seen;
    const int strategies = strategy_count(6);
    int kind = 0;
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        sweep(
            c, strategies, seen,
            [&](const ts::optimizer& how) { return emulated_backend(how, placement(8, kind++ / 2 % 3)); },
            [&](const sweep_case& of, int number, int devices, const sweep_result& r) {
                CAPTURE(of.name);
                CAPTURE(number);
                CAPTURE(devices);
                CAPTURE(r.seen.worst);
                CHECK(r.failure == "");
                CHECK(r.seen.loss <= allowed);
                CHECK(r.seen.gradient <= allowed);
                CHECK(r.seen.change <= allowed);
                CHECK(r.seen.copies_equal);
                CHECK(r.repeats);
                worst[0] = std::max(worst[0], r.seen.loss);
                worst[1] = std::max(worst[1], r.seen.gradient);
                worst[2] = std::max(worst[2], r.seen.change);
            });
        MESSAGE(c.name << ": largest relative difference of losses " << worst[0] << ", gradients " << worst[1]
                       << ", changes of weights " << worst[2]);
    }
}
