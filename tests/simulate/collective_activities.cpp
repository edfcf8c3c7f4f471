// SPDX-License-Identifier: Apache-2.0
// What devices sum and share, where one thing alone takes time; and that no device has a parameter's region twice,
// which needs no sharing.
#include "support/planned.hpp"
#include "support/random_strategy.hpp"

#include "tessera/schedule/zero.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

struct l1 : ts::linear<24> {};
struct l2 : ts::linear<36> {};
struct l3 : ts::linear<48> {};
struct three_layers : ts::sequential<ts::features<12>, l1, ts::relu, l2, ts::relu, l3, ts::cross_entropy> {};

ts::plan planned(const ts::graph_view& g, const ts::strategy& s, int devices) {
    ts::lower_options o;
    o.update = ts::sgd{};
    return test_support::planned(g, s, devices, o);
}

/// Devices, each with a link to every other, of which nothing takes time but starting a call.
ts::cluster that_only_starts(int devices, index_t launch) {
    constexpr index_t plenty = 1'000'000'000;
    ts::device_graph g;
    g.add_class({"d", {plenty, plenty, plenty}, plenty, 0, launch, false});
    for (int d = 0; d < devices; ++d) {
        g.add_device(0, "d" + std::to_string(d));
        for (int other = 0; other < d; ++other) {
            g.add_link(other, d, plenty, 0);
        }
    }
    return ts::cluster(g);
}

} // namespace

TEST_CASE("what a member of a message does by itself starts beside what it does of others: only the last one's calls "
          "are waited for, on streams of their own too") {
    const ts::graph network = ts::describe<three_layers>(12);
    const ts::graph_view g = network.view();
    constexpr index_t launch = 1'000'000;
    for (const int devices : {2, 3, 4}) {
        for (const int stage : {2, 3}) { // every gradient is a message that is summed, its slice updated, and shared
            ts::strategy s =
                test_support::data_parallel(g, devices, ts::schedule::zero(ts::schedule::gradients_of(g), stage));
            for (const bool overlap : {false, true}) {
                s.overlap = overlap;
                const ts::plan p = planned(g, s, devices);
                index_t computes = 0;
                int messages = 0;
                for (const ts::task& t : p.tasks) {
                    computes += t.kind() == ts::task_kind::compute && t.device == 0 ? 1 : 0;
                    messages += t.kind() == ts::task_kind::reduce && t.device == 0 ? 1 : 0;
                    CHECK((t.params().message < 0 || (t.stream == ts::task_stream::communication) == overlap));
                }
                CHECK(messages == g.parameter_count);
                const index_t makespan = sim::simulate(g, p, that_only_starts(devices, launch)).makespan;
                CAPTURE(devices);
                CAPTURE(stage);
                CAPTURE(overlap);
                CHECK(makespan / launch == computes + 2); // the last gradient's sum and update
                CHECK(makespan % launch < launch / 100);
            }
        }
    }
}

TEST_CASE("copies of a parameter's region are on different devices, however many shards a device has") {
    const ts::graph network = ts::describe<three_layers>(12);
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    int shared = 0;
    int crowded = 0; // operators with several shards on a device
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const ts::strategy s = test_support::random_strategy(g, 3, seed, seen);
        const ts::plan p = planned(g, s, 3);
        for (const ts::configuration& c : s.ops) {
            crowded += c.shards() > 3 ? 1 : 0;
        }
        for (const ts::task& t : p.tasks) {
            std::vector<int> devices;
            for (const int w : t.writes) {
                if (t.kind() == ts::task_kind::update) {
                    devices.push_back(p.tiles[ts::to_size(w)].device);
                }
            }
            std::sort(devices.begin(), devices.end());
            CHECK(std::adjacent_find(devices.begin(), devices.end()) == devices.end());
            shared += devices.size() > 1 ? 1 : 0;
        }
    }
    CHECK(crowded > 50);
    CHECK(shared > 100);
}
