// SPDX-License-Identifier: Apache-2.0
// Tofu by the simulated step: never longer than what moves least, and what the delta simulation says is what the whole
// plan takes.
#include "tessera/search/tofu/timed.hpp"

#include "random_graph.hpp"

#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

} // namespace

TEST_CASE("changes of single groups shorten the simulated step") {
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    int shorter = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).trained(6);
        search::tofu_options o;
        o.traffic.slices_parameters = seed % 2 == 0;
        const search::tofu_steps steps = search::steps_for(2, 2);
        const search::tofu_result least = search::tofu_search(g.view(), steps, o);
        const search::tofu_result flat = search::flat_tofu(g.view(), steps, o);
        CHECK(flat.exact);
        const search::tofu_timed timed = search::tofu_by_time(g.view(), on, steps, o, 60);
        ts::require(g.view(), timed.found.best.view(), 4);
        CHECK(timed.simulated <= 60);
        CHECK(timed.after <= timed.before);
        CHECK(timed.found.bytes >= flat.bytes);
        const auto time = [&](const ts::strategy& s) {
            return ts::simulation::simulate(g.view(), search::bound_plan(g.view(), s, 4), on).makespan;
        };
        CHECK(time(least.best) == timed.before);
        CHECK(time(timed.found.best) == timed.after);
        shorter += timed.after < timed.before ? 1 : 0;
    }
    CHECK(shorter > 10);
}

TEST_CASE("without simulations it is what moves least, and a machine of another size is refused") {
    const ts::graph g = tests::tofu_graph_maker(1).trained(5);
    const search::tofu_steps steps = search::steps_for(1, 4);
    const ts::cluster on(ts::machines::p100_nodes(1));
    const search::tofu_timed none = search::tofu_by_time(g.view(), on, steps, search::tofu_options{}, 0);
    CHECK(none.found.best == search::tofu_search(g.view(), steps).best);
    CHECK(none.simulated == 0);
    CHECK_THROWS_AS(
        search::tofu_by_time(g.view(), ts::cluster(ts::machines::p100_nodes(1, 2)), steps, search::tofu_options{}, 0),
        ts::error);
}
