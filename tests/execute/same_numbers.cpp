// SPDX-License-Identifier: Apache-2.0
// Any legal strategy computes what one device computes. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/sweep.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

constexpr double allowed = 1e-4;

/// Puts the tasks of every other plan on two lanes at random.
struct scattering_backend : ts::reference::backend {
    std::uint64_t* plans;

    scattering_backend(const ts::optimizer& how, std::uint64_t& count) : backend(how), plans(&count) {}
    void bind(ts::plan& p, const ts::graph_view& g, const ts::parameter_store* store) {
        backend::bind(p, g, store);
        if (++*plans / 2 % 2 == 1) { // both runs of a strategy alike
            random_lanes(p, *plans / 2);
        }
    }
};

} // namespace

TEST_CASE("random strategies give the numbers of one device, twice the same bits") {
    coverage seen;
    const int strategies = strategy_count(8);
    std::uint64_t plans = 1;
    for (const sweep_case& c : sweep_cases()) {
        double worst[3] = {};
        sweep(
            c, strategies, seen, [&](const ts::optimizer& how) { return scattering_backend(how, plans); },
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
        MESSAGE(c.name << ": " << strategies << " strategies, largest relative difference of losses " << worst[0]
                       << ", gradients " << worst[1] << ", changes of weights " << worst[2]);
    }
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
