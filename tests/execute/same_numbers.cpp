// SPDX-License-Identifier: Apache-2.0
// Any legal strategy computes what one device computes. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/planned.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Puts the tasks of the plans of every other strategy on two streams at random.
struct scattering_backend : ts::reference::backend {
    int run;

    scattering_backend(const ts::optimizer& update, int number) : backend(update), run(number) {}
    void bind(ts::plan& p, const ts::graph_view& g, const ts::parameter_store* store) {
        backend::bind(p, g, store);
        if (run % 2 == 1) {
            random_streams(p, static_cast<std::uint64_t>(run));
        }
    }
};

} // namespace

TEST_CASE("random strategies give the numbers of one device, twice the same bits") {
    const coverage seen = hold_strategies(
        strategy_count(4), [](const ts::optimizer& update, int run) { return scattering_backend(update, run); });
    for (int role = 0; role < 5; ++role) {
        CAPTURE(std::string(ts::to_text(static_cast<ts::loop_role>(role))));
        CHECK(seen.roles[role] > 0);
    }
    CHECK(seen.uneven > 0);
    CHECK(seen.cuts > 0);
    CHECK(seen.replicas > 0);
    CHECK(seen.several > 0);
    CHECK(seen.partial > 0);
    CHECK(seen.joins > 0);
    MESSAGE("operators split by sample " << seen.roles[0] << ", attribute " << seen.roles[1] << ", parameter "
                                         << seen.roles[2] << ", reduction " << seen.roles[3] << ", coupled "
                                         << seen.roles[4] << "; uneven " << seen.uneven << ", cut " << seen.cuts
                                         << ", replicated " << seen.replicas << ", several splits " << seen.several
                                         << ", partial passed on " << seen.partial << " (into joins " << seen.joins
                                         << ")");
}

TEST_CASE("statistics of a batch that many devices sum in slices are those of one device") {
    const sweep_case c{"residual net", ts::describe<test_networks::residual_net::network>(12),
                       ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F}};
    oracles expected(c);
    sweep_check check;
    int runs = 0;
    auto make = [&](const ts::optimizer& update) { return scattering_backend(update, runs++ / 2); };
    for (const int devices : {5, 6, 8, 12}) {
        const ts::strategy s = data_parallel(c.network.view(), devices);
        check.hold(c, devices, expected.run(s, devices, make), allowed_rounding);
    }
}
