// SPDX-License-Identifier: Apache-2.0
// The program of docs/placements.md.
#include "tessera/learned/families.hpp"
#include "tessera/search/placement/annealing.hpp"
#include "tessera/search/placement/list_placement.hpp"

#include <doctest/doctest.h>

namespace ts = tessera;

TEST_CASE("docs/placements.md: a generated graph placed by list scheduling and by annealing") {
    namespace sp = ts::search::placement;
    const sp::cost_graph g = ts::learned::member(ts::learned::family::translation, 3);
    const ts::cluster on = ts::learned::family_machine(g, 4); // four devices with 0.6 of the graph's memory each
    sp::evaluator prices(g, on);
    const sp::found list = sp::by_list(prices);
    const sp::found annealed = sp::anneal(prices, {.evaluations = 5000});
    const sp::outcome all = prices.evaluate(annealed.where);
    // annealed.step in ns, all.peak_bytes of every device, all.why where it does not fit
    CHECK(annealed.feasible());
    CHECK(all.step == annealed.step);
    CHECK(annealed.better_than(list));
}
