// SPDX-License-Identifier: Apache-2.0
// Every optimizer under random strategies and all synchronization policies gives the numbers of one device in double, on the reference backend and on the host.
#include "support/host_formats.hpp"
#include "support/own_optimizers.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// The optimizers, every other one with clipping of the norm.
std::vector<sweep_case> cases(int batch) {
    std::vector<sweep_case> all;
    for (auto& [name, how] : all_optimizers()) {
        all.push_back({name, ts::describe<test_networks::mlp::network>(batch), how});
        all.back().how.clip_norm = all.size() % 2 == 0 ? 0.05F : 0.0F;
    }
    return all;
}

template <class Make>
void hold_all(Make make) {
    int number = 0;
    for (const sweep_case& c : cases(6)) {
        sweep_check check;
        coverage seen;
        int runs = 0;
        sweep(
            c, strategy_count(8), seen, [&](const ts::optimizer& how) { return make(how, runs++ / 2); },
            [&](const sweep_case& of, int, int devices, const sweep_result& r) {
                check.hold(of, devices, r, allowed_rounding_with_adam);
            },
            first_of(number++));
        check.tell(c, strategy_count(8), "strategies");
    }
}

} // namespace

TEST_CASE("every optimizer gives the numbers of one device under random strategies on the reference backend") {
    hold_all([](const ts::optimizer& how, int) { return ts::reference::backend(how); });
}

TEST_CASE("every optimizer gives the numbers of one device under random strategies on the host") {
    hold_all(host_in_formats_of);
}

TEST_CASE("every optimizer gives the numbers of one device under every synchronization policy") {
    constexpr int devices = 3;
    for (const sweep_case& c : cases(6)) {
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        int run = 0;
        auto make = [&](const ts::optimizer& how) { return host_in_formats_of(how, run++ / 2); };
        for (const auto& of_name : small_policies(g, devices)) {
            const auto& name = of_name.first; // clang 14 captures no structured binding
            const auto& sync = of_name.second;
            CAPTURE(name);
            const ts::strategy s = data_parallel(g, devices, sync);
            sweep_check().hold(c, devices, expected.run(s, devices, make), allowed_rounding_with_adam);
        }
    }
}
