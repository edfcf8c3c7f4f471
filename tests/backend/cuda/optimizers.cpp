// SPDX-License-Identifier: Apache-2.0
// Every optimizer as CUDA's kernels, run on the processor: under random strategies and all synchronization policies the numbers of one device.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/own_optimizers.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/sweep_check.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("every optimizer gives the numbers of one device as calls, under random strategies and every policy") {
    constexpr int devices = 3;
    int number = 0;
    auto all = all_optimizers();
    for (const auto& x : layerwise_optimizers()) {
        all.push_back(x);
    }
    for (const auto& of_name : all) {
        const auto& name = of_name.first; // clang 14 captures no structured binding
        const auto& how = of_name.second;
        sweep_case c{name, ts::describe<test_networks::mlp::network>(6), how};
        c.how.clip_norm = number % 2 == 0 ? 0.05F : 0.0F;
        sweep_check check;
        coverage seen;
        int runs = 0;
        auto make = [&](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(8, runs++ / 2 % 3)); };
        sweep(
            c, strategy_count(4), seen, make,
            [&](const sweep_case& of, int, int count, const sweep_result& r) {
                check.hold(of, count, r, allowed_rounding_with_adam);
            },
            first_of(number++));
        oracles expected(c);
        for (const auto& of_policy : small_policies(c.network.view(), devices)) {
            const auto& policy = of_policy.first; // clang 14 captures no structured binding
            const auto& sync = of_policy.second;
            CAPTURE(policy);
            const ts::strategy s = data_parallel(c.network.view(), devices, sync);
            check.hold(c, devices, expected.run(s, devices, make), allowed_rounding_with_adam);
        }
        check.tell(c, strategy_count(4), "strategies");
    }
}

TEST_CASE("LARS and LAMB give the numbers of one device as calls where layers are tied and shards overlap") {
    for (const auto& of_name : layerwise_optimizers()) {
        if (of_name.second.weight_decay == 0 || of_name.second.clip_value > 0) {
            continue; // the bias of keys has no gradient but rounding, which LARS makes as large as any without a decay
        }
        const auto& name = of_name.first; // clang 14 captures no structured binding
        const auto& how = of_name.second;
        const sweep_case c{name, ts::describe<test_networks::transformer::network>(4), how};
        sweep_check check;
        coverage seen;
        int runs = 0;
        auto make = [&](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(8, runs++ / 2 % 3)); };
        sweep(c, strategy_count(2), seen, make, [&](const sweep_case& of, int, int count, const sweep_result& r) {
            check.hold(of, count, r, allowed_rounding_with_adam);
        });
        check.tell(c, strategy_count(2), "strategies");
    }
}
