// SPDX-License-Identifier: Apache-2.0
// Networks with their optimizers under random strategies and all synchronization policies: the numbers of one device in
// double.
#pragma once

#include "host_formats.hpp"
#include "own_optimizers.hpp"
#include "planned.hpp"
#include "policies.hpp"
#include "sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <vector>

namespace test_support {

/// Under random strategies; `make(optimizer, run)` makes a backend, twice in a row for each run.
template <class Make>
void hold_cases(const std::vector<sweep_case>& cases, Make make) {
    int number = 0;
    for (const sweep_case& c : cases) {
        sweep_check check;
        coverage seen;
        int runs = 0;
        sweep(
            c, strategy_count(8), seen, [&](const ts::optimizer& update) { return make(update, runs++ / 2); },
            [&](const sweep_case& of, int, int devices, const sweep_result& r) {
                check.hold(of, devices, r, allowed_rounding_with_adam);
            },
            first_of(number++));
        check.tell(c, strategy_count(8), "strategies");
    }
}

inline void hold_cases_on_reference(const std::vector<sweep_case>& cases) {
    hold_cases(cases, [](const ts::optimizer& update, int) { return ts::reference::backend(update); });
}

/// On the host in any formats, under every synchronization policy.
inline void hold_policies(const std::vector<sweep_case>& cases) {
    constexpr int devices = 3;
    for (const sweep_case& c : cases) {
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        int run = 0;
        auto make = [&](const ts::optimizer& update) { return host_in_formats_of(update, run++ / 2); };
        for (const auto& of_name : small_policies(g, devices)) {
            const auto& name = of_name.first; // clang 14 captures no structured binding
            const auto& sync = of_name.second;
            CAPTURE(name);
            const ts::strategy s = data_parallel(g, devices, sync);
            sweep_check().hold(c, devices, expected.run(s, devices, make), allowed_rounding_with_adam);
        }
    }
}

} // namespace test_support
