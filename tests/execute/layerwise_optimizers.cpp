// SPDX-License-Identifier: Apache-2.0
// LARS and LAMB, whose steps need norms of whole parameters, under random strategies, pipelines and all synchronization policies: the numbers of one
// device in double, on the reference backend and on the host.
#include "support/host_formats.hpp"
#include "support/own_optimizers.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/strategy/typed_groups.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// The optimizers on networks whose parameters are split, tied, frozen and of several losses; some clip the norm of all gradients besides.
std::vector<sweep_case> cases() {
    namespace n = test_networks;
    const auto all = layerwise_optimizers();
    std::vector<sweep_case> made;
    for (const auto& x : all) {
        made.push_back({x.first, ts::describe<n::mlp::network>(6), x.second});
        made.back().how.clip_norm = made.size() % 2 == 0 ? 0.05F : 0.0F;
    }
    for (std::size_t i = 0; i < 2; ++i) {
        made.push_back({all[i].first + ", U-Net", ts::describe<n::unet::network>(4), all[i].second});
        made.push_back({all[i].first + ", tied layers", ts::describe<n::transformer::network>(4), all[i].second});
        made.push_back({all[i].first + ", frozen layers", ts::describe<n::frozen_net::network>(5), all[i].second});
    }
    made.push_back({"LARS of some", ts::describe<n::mlp::network>(6),
                    ts::with_groups(all[0].second, ts::group<ts::biases_and_norms>{.decay = 0, .trust_ratio = false})});
    return made;
}

template <class Make>
void hold_all(Make make) {
    int number = 0;
    for (const sweep_case& c : cases()) {
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

TEST_CASE("LARS and LAMB give the numbers of one device under random strategies on the reference backend") {
    hold_all([](const ts::optimizer& how, int) { return ts::reference::backend(how); });
}

TEST_CASE("LARS and LAMB give the numbers of one device under random strategies on the host") {
    hold_all(host_in_formats_of);
}

TEST_CASE("LARS and LAMB give the numbers of one device under every synchronization policy") {
    constexpr int devices = 3;
    for (const sweep_case& c : cases()) {
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
