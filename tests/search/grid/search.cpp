// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/grid/search.hpp"

#include "support/small_gpt.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/run.hpp"

#include <doctest/doctest.h>

#include <range/v3/view/cartesian_product.hpp>

#include <array>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

} // namespace

TEST_CASE("grid search: what it returns fits, keeps the rules, and is not worse than any grid estimated in full") {
    ts::device_graph machine = ts::machines::h200_nodes(2);
    const ts::graph g = ts::describe<test_networks::small_gpt<4>>(32);
    search::grid_options o;
    o.lowering = test_support::with_adam();
    o.largest_micro_batch = 1;
    const search::grid_result free = search::search_grid(g.view(), ts::cluster(machine), o);
    CHECK(free.too_large == 0);
    CHECK(free.best.cost.fits);
    machine.classes[0].memory_bytes = free.best.cost.most_bytes * 2 / 3;
    const ts::cluster on(machine);
    const search::grid_result tight = search::search_grid(g.view(), on, o);
    CHECK(tight.too_large > 0);
    CHECK(tight.best.cost.most_bytes <= machine.classes[0].memory_bytes);
    CHECK(tight.best.cost.makespan >= free.best.cost.makespan);
    ts::require(g.view(), search::strategy_of(g.view(), tight.best.grid).view(), 16);
    search::grid_estimator estimate(g.view(), on, {}, o.lowering);
    int tried = 0;
    const std::array degrees{1, 4};
    const std::array both{false, true};
    const auto grids = ranges::views::cartesian_product(degrees, degrees, both);
    for (const auto& [tensor, stages, again] : grids) {
        const int data = 16 / tensor / stages; // at least 1
        const auto x = search::megatron_grid(g.view(), data, tensor, stages, 32 / data, again);
        const search::grid_cost c = estimate(x);
        tried += c.fits ? 1 : 0;
        CHECK((!c.fits || c.makespan >= tight.best.cost.makespan));
    }
    CHECK(tried > 0);
    const ts::cluster eight(ts::machines::h200_nodes(1));
    for (const int m :
         {1, 4}) { // more samples at once than largest_micro_batch, where so few micro-batches are asked for
        search::grid_options cut = o;
        cut.micro_batches = m;
        cut.recompute = m == 4;
        const search::device_grid x = search::search_grid(g.view(), eight, cut).best.grid;
        CHECK(x.micro_batches == m);
        CHECK((x.recompute || m == 1));
    }
    search::search_options named;
    named.lowering = o.lowering;
    named.micro_batches = 1;
    const search::search_found estimated = search::run(search::grid_record, g.view(), eight, named);
    CHECK(estimated.best.micro_batches == 1);
    CHECK(estimated.step > 0);
    CHECK(estimated.most_bytes > 0);
    machine.classes[0].memory_bytes = 1000;
    CHECK_THROWS_AS(search::search_grid(g.view(), ts::cluster(machine), o), ts::error);
    // Elimination costs no more than Megatron-LM's splits under the model that it minimizes.
    const ts::graph one = ts::with_blocks(g.view(), ts::find_repeats(g.view()), 3, 1).network;
    const ts::machine m = search::detail::places_of(on, 4);
    ts::strategy found(one.view());
    ts::strategy by_hand(one.view());
    found.ops = search::detail::eliminated_within(one.view(), m, 4, 0);
    by_hand.ops = search::megatron_within(one.view(), 4);
    CHECK(ts::cost::total_cost(one.view(), found, m) <= ts::cost::total_cost(one.view(), by_hand, m));
}
