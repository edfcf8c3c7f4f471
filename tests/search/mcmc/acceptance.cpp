// SPDX-License-Identifier: Apache-2.0
// MCMC accepts what is slower by x with probability exp(-x / (temperature * present)): single proposals, each from the
// same strategy with random numbers of its own, once where all are accepted, which shows what they cost, and once at a
// temperature.
#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/mcmc/mcmc.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

} // namespace

TEST_CASE("mcmc: as many slower proposals are accepted as the temperature says") {
    const ts::graph g = ts::describe<networks::lenet5>(64);
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::strategy start = search::data_parallel(g.view(), on.devices());
    search::mcmc_options o;
    o.patience = 100;
    o.proposals.memory_limit = false;
    o.proposals.plain = false;
    const auto begun = [&](double temperature, std::uint64_t random) {
        o.temperature = temperature;
        search::mcmc_chain first(g.view(), on, start, o);
        search::mcmc_state s = first.state();
        s.random = ts::op::mix(random);
        return search::mcmc_chain(g.view(), on, s, o);
    };
    for (const double temperature : {0.05, 0.5}) {
        double expected = 0;
        double variance = 0;
        int accepted = 0;
        int uncertain = 0; // those that a temperature ten times as high or as low would treat otherwise
        for (std::uint64_t i = 0; i < 500; ++i) {
            search::mcmc_chain all = begun(1e6, i);
            const auto now = static_cast<double>(all.current_cost());
            all.run(1);
            const double slower = static_cast<double>(all.current_cost()) - now;
            search::mcmc_chain chain = begun(temperature, i);
            chain.run(1);
            if (slower <= 0) {
                CHECK(chain.accepted() == all.accepted());
                continue;
            }
            REQUIRE(all.accepted() == 1);
            const double p = std::exp(-slower / (temperature * now));
            expected += p;
            variance += p * (1 - p);
            accepted += chain.accepted() > 0 ? 1 : 0;
            uncertain += p > 0.01 && p < 0.99 ? 1 : 0;
        }
        CAPTURE(temperature);
        MESSAGE(accepted << " slower proposals accepted, " << expected << " expected, " << uncertain << " by chance");
        CHECK(uncertain > 200);
        CHECK(std::abs(accepted - expected) < 4 * std::sqrt(variance));
    }
}
