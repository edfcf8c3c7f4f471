// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/fold.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/random_strategy.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;

/// Simulates a plan as it is and folded: both must say the same of every task. Returns the folded one.
sim::folded_timeline compare(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on, bool finished) {
    ts::plan p = ts::lower(g, s.view(), on.devices());
    if (finished) {
        ts::finish(g, p);
    }
    sim::task_activities activities(on, g, {});
    const sim::timeline whole = sim::simulate(p, activities);
    sim::folded_timeline folded = sim::simulate_folded(p, activities);
    CHECK(folded.makespan == whole.makespan);
    CHECK(folded.spans(p.tasks.size()) == whole.tasks);
    for (int d = 0; d < on.devices(); ++d) { // devices of a class compute equally long
        for (int e = 0; e < d; ++e) {
            const auto i = ts::to_size(d);
            const auto j = ts::to_size(e);
            if (folded.classes.device_class[i] == folded.classes.device_class[j]) {
                REQUIRE(whole.device_busy[i] == whole.device_busy[j]);
            }
        }
    }
    return folded;
}

} // namespace

TEST_CASE("folding: the folded simulation is the unfolded one, on random strategies and presets") {
    namespace n = test_networks;
    const ts::graph networks[] = {ts::describe<n::residual_net::network>(8), ts::describe<n::transformer::network>(8),
                                  ts::describe<n::recurrent::network>(8)};
    const ts::cluster machines[] = {
        ts::cluster(ts::machines::p100_nodes(2)),   ts::cluster(ts::machines::k80_nodes(2)),
        ts::cluster(ts::machines::v100_nodes(1)),   ts::cluster(ts::machines::h100_nodes(2)),
        ts::cluster(ts::machines::heterogeneous()), ts::cluster(ts::machines::this_host(3))};
    test_support::coverage seen;
    std::uint64_t seed = 0;
    for (const ts::cluster& on : machines) {
        const bool host = on.class_of(0).serial_copies;
        for (const ts::graph& g : networks) {
            for (int k = 0; k < 2; ++k) {
                compare(g.view(), test_support::random_strategy(g.view(), on.devices(), ++seed, seen), on, host);
            }
            for (const ts::search::named_strategy& s : ts::search::hand_designed(g.view(), on)) {
                compare(g.view(), s.value, on, host);
            }
        }
    }
}

TEST_CASE("folding: data parallelism on 64 devices is one device's work, as far as the machine is symmetric") {
    const ts::graph g = ts::describe<test_networks::lenet5::network>(128);
    const ts::strategy data = ts::search::data_parallel(g.view(), 64);
    // Fully linked: all alike, but for who holds a larger slice of a parameter whose elements 64 does not divide.
    ts::machine m = ts::machines::p100_cluster(64);
    const ts::cluster alike(ts::fully_linked(m));
    const sim::folded_timeline one = compare(g.view(), data, alike, false);
    CHECK(one.classes.devices == 1);
    CHECK(one.classes.activities * 40 < static_cast<int>(one.classes.activity_class.size()));
    for (const ts::cluster& on : {ts::cluster(ts::machines::p100_nodes(16)), ts::cluster(ts::machines::k80_nodes(16)),
                                  ts::cluster(ts::machines::h100_nodes(8))}) {
        const sim::folded_timeline t = compare(g.view(), data, on, false);
        CHECK(t.classes.devices == 1);
    }
    // Groups of devices with different work are distinguished, and within a group devices are alike.
    const sim::folded_timeline placed = compare(g.view(), ts::search::operator_placement(g.view(), 16, 4),
                                                ts::cluster(ts::machines::p100_nodes(16)), false);
    CHECK(placed.classes.devices >= 4);
    CHECK(placed.classes.devices < 64);
}

TEST_CASE("folding: what differs in one nanosecond of one device is not folded") {
    std::vector<sim::activity> items(4);
    for (int i = 0; i < 4; ++i) {
        items[ts::to_size(i)].device = i / 2;
        items[ts::to_size(i)].duration = 10;
    }
    CHECK(sim::fold(items, 2, 0).devices == 1);
    CHECK(sim::fold(items, 2, 0).activities == 2);
    items[3].duration = 11;
    CHECK(sim::fold(items, 2, 0).devices == 2);
    CHECK(sim::fold(items, 2, 0).activities == 3);
    items[3].duration = 10;
    items[0].lanes = {{0, 5}}; // one lane, two users in turn: the first is not the second
    items[2].lanes = {{0, 5}};
    CHECK(sim::fold(items, 2, 1).devices == 2);
    items[2].lanes = {{1, 5}};
    CHECK(sim::fold(items, 2, 2).devices == 1);
    CHECK(sim::fold(items, 2, 2).lanes == 1);
}
