// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/equal_parts.hpp"

#include "support/networks.hpp"
#include "support/random_parts.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

ts::search::parts_step compare(const ts::graph_view& g, const ts::cluster& on, const ts::strategy& s) {
    ts::search::parts_step r = ts::search::simulate_parts(g, on, s);
    const ts::search::finished_step all = ts::search::simulate_finished(g, on, s);
    CHECK(r.step.makespan == all.makespan);
    CHECK(r.step.moved_bytes == all.moved_bytes);
    CHECK(r.step.peak_bytes == all.peak_bytes);
    CHECK(r.step.fits == all.fits);
    return r;
}

} // namespace

TEST_CASE("equal parts: two of them are simulated as all are, on random strategies, policies and machines") {
    test_support::coverage seen;
    test_support::parts_findings found;
    for (std::uint64_t n = 1; n <= 20; ++n) {
        const test_support::random_case network(n);
        for (std::uint64_t k = 0; k < 12; ++k) {
            test_support::try_parts(network, n * 100000 + k, seen, found);
        }
    }
    for (const std::string& w : found.wrong) {
        INFO(w);
        CHECK(false);
    }
    CHECK(found.folded > 30);
    for (const int of_kind : found.by_parts) { // parts of one device, two, more; pipelines; ZeRO 3
        CHECK(of_kind > 0);
    }
}

TEST_CASE("equal parts: what is planned does not grow with the number of parts") {
    std::size_t tasks[2]{};
    for (int i = 0; i < 2; ++i) {
        const int devices = i == 0 ? 16 : 1024;
        const ts::graph g = ts::describe<test_networks::transformer::network>(2 * devices);
        ts::device_graph machine = ts::machines::h100_nodes(devices / 8);
        machine.classes[0].rates = {}; // by which slices of one element more take longer
        const ts::cluster on(machine);
        const ts::strategy s = ts::search::data_parallel(g.view(), devices);
        const ts::search::equal_parts x = ts::search::equal_parts_of(g.view(), on, s);
        REQUIRE(x.parts == devices);
        ts::lower_options o;
        o.parts = x.parts;
        tasks[i] = ts::search::bound_plan(x.network.view(), x.how, ts::planned_parts, o).tasks.size();
        CHECK(ts::search::simulate_planned_parts(on, x).whole.empty());
    }
    CHECK(tasks[0] == tasks[1]);
}

TEST_CASE("equal parts: what parts would not do alike is simulated as a whole, and why is said") {
    const ts::graph g = ts::describe<test_networks::lenet5::network>(64);
    const ts::cluster on(ts::machines::p100_nodes(2));
    ts::strategy s = ts::search::data_parallel(g.view(), 8);
    CHECK(compare(g.view(), on, s).parts == 8);
    ts::strategy stored = s;
    stored.parameters_on = 0;
    CHECK(compare(g.view(), on, stored).whole == "one device stores the parameters");
    ts::strategy moved = s; // one operator's shards on two devices swapped
    moved.place(0, {0, 1, 2, 4, 3, 5, 6, 7});
    CHECK(compare(g.view(), on, moved).parts == 1);
    ts::strategy channels = ts::search::mesh(g.view(), 1, 8);
    CHECK(compare(g.view(), on, channels).parts == 1);
    const ts::cluster threads(ts::machines::this_host(4));
    CHECK(compare(g.view(), threads, ts::search::data_parallel(g.view(), 4)).whole == "devices copy in turn");
}

TEST_CASE("equal parts: lanes that parts share, and unlike ways, are seen") {
    const ts::cluster on(ts::machines::p100_nodes(2));
    using pairs = std::vector<std::pair<int, int>>;
    CHECK(ts::simulation::lanes_of_parts(on, 8, {}, {}).unlike.empty());
    CHECK_FALSE(ts::simulation::lanes_of_parts(on, 4, pairs{{0, 2}}, {}).unlike.empty());
    const std::vector<int> lanes = ts::simulation::lanes_of_parts(on, 8, {}, {}).representative;
    REQUIRE(static_cast<int>(lanes.size()) == on.lanes());
    for (const int l : lanes) {
        CHECK(l == 0);
    }
    ts::cost::collective_cost one;
    one.lanes = {{3, 5}};
    CHECK(ts::simulation::lanes_of_parts(on, 8, {}, {one}).representative[3] == 3);
}
