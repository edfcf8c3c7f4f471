// SPDX-License-Identifier: Apache-2.0
// Norms of whole parameters take time in a simulated step: each of their tasks is in the timeline, and every update
// comes after all norms of its parameter.
#include "tessera/machine/presets.hpp"
#include "tessera/simulate/simulate.hpp"

#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"

#include <doctest/doctest.h>

namespace ts = tessera;

TEST_CASE("LAMB's step is AdamW's with norms between sums and updates, under every policy") {
    constexpr int devices = 4;
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const ts::cluster machine(ts::machines::p100_nodes(1, devices));
    int waiting = 0;
    for (const auto& policy : test_support::small_policies(g.view(), devices)) {
        CAPTURE(policy.first);
        const ts::strategy s = test_support::data_parallel(g.view(), devices, policy.second);
        ts::lower_options o;
        o.update = ts::adamw{};
        const ts::plan without = test_support::planned(g.view(), s, devices, o);
        o.update = ts::lamb{};
        const ts::plan with = test_support::planned(g.view(), s, devices, o);
        const ts::simulation::timeline t = ts::simulation::simulate(g.view(), with, machine);
        // Elsewhere AdamW's slices go one by one as they arrive; where they wait too, norms come on top.
        if (policy.second.update_at == ts::sync_time::after_backward) {
            ++waiting;
            CHECK(t.makespan > ts::simulation::simulate(g.view(), without, machine).makespan);
        }
        int norms = 0;
        for (std::size_t i = 0; i < with.tasks.size(); ++i) {
            if (with.tasks[i].kind() != ts::task_kind::norm) {
                continue;
            }
            ++norms;
            CHECK(t.tasks[i].end > t.tasks[i].start);
            for (std::size_t k = 0; k < with.tasks.size(); ++k) {
                const ts::task& u = with.tasks[k];
                for (const int n : u.kind() == ts::task_kind::update ? u.params().layer_norms : std::vector<int>{}) {
                    const bool own = n == with.tasks[i].params().layer_norms[0];
                    CHECK((!own || t.tasks[k].end > t.tasks[i].end));
                }
            }
        }
        CHECK(norms > 0);
    }
    CHECK(waiting > 1);
}
