// SPDX-License-Identifier: Apache-2.0
// Synchronization policies as lists of calls: the numbers of one device, on one GPU and on several; what cannot run is
// refused.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/sweep_check.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("every policy gives the numbers of one device, on one GPU and on several") {
    constexpr int devices = 3;
    const ts::sgd rule{.learning_rate = 0.1F, .momentum = 0.9F};
    int kind = 0;
    for (const ts::optimizer& how : {ts::optimizer(rule), ts::optimizer(rule, 0.05F)}) {
        const sweep_case c{"MLP", ts::describe<test_networks::mlp::network>(6), how};
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        ts::strategy s = data_parallel(g, devices);
        for (const auto& policy : small_policies(g, devices)) {
            const std::string& name = policy.first;
            const ts::synchronization& sync = policy.second;
            s.sync = sync;
            const auto make = [&](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(4, kind % 3)); };
            ++kind;
            const sweep_result r = expected.run(s, devices, make);
            CAPTURE(name);
            CAPTURE(kind);
            sweep_check().hold(c, devices, r, allowed_rounding);
        }
        s.sync = {};
        s.steps_per_plan = 2;
        const auto make = [](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(4, 0)); };
        CHECK(expected.run(s, devices, make).failure.find("plans of one step") != std::string::npos);
    }
    const sweep_case c{"MLP", ts::describe<test_networks::mlp::network>(6), ts::sgd{}};
    const ts::strategy s = data_parallel(c.network.view(), devices, ts::schedule::parameter_average(1));
    const auto make = [](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(4, 0)); };
    CHECK(oracles(c).run(s, devices, make).failure.find("does not average") != std::string::npos);
}
