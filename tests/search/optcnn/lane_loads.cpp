// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/lane_loads.hpp"

#include "support/random_machine.hpp"
#include "support/random_network.hpp"

#include "tessera/search/optcnn/optcnn.hpp"

#include <doctest/doctest.h>

#include <map>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

/// The same time by a look at every two shards and at every lane between their devices.
index_t by_all_pairs(const ts::cluster& on, const ts::description& producer, const ts::configuration& from,
                     const ts::description& consumer, int input, const ts::configuration& to, index_t bytes,
                     bool gradient) {
    index_t total = 0;
    for (const bool back : {false, true}) {
        std::map<int, index_t> load;
        index_t latency = 0;
        for (int s = 0; s < from.shards(); ++s) {
            for (int t = 0; t < to.shards(); ++t) {
                const ts::box written =
                    ts::region(producer, producer.output(), ts::shard_at(from, nullptr, producer, s).ranges);
                const ts::box needed = ts::region(consumer, input, ts::shard_at(to, nullptr, consumer, t).ranges);
                const index_t volume = ts::common_volume(written, needed);
                if (s != t && volume > 0) {
                    const ts::route r = back ? on.between(t, s) : on.between(s, t);
                    latency = std::max(latency, r.latency);
                    for (const int lane : r.lanes) {
                        load[lane] += volume * bytes;
                    }
                }
            }
        }
        index_t busiest = 0;
        for (const auto& [lane, all] : load) {
            busiest = std::max(busiest, all * 1000 / on.lane_megabytes(lane));
        }
        total += load.empty() || (back && !gradient) ? 0 : latency + busiest;
    }
    return total;
}

/// Compares `pairs` pairs of configurations of random edges of a network.
int compare(const ts::cluster& on, const ts::graph& g, int pairs, test_support::random& pick) {
    const search::detail::lane_loads lanes(on);
    int compared = 0;
    search::detail::for_each_edge(g.view(), [&](int producer, int op, int slot) {
        const ts::description from = g.view().describe(producer);
        const ts::description to = g.view().describe(op);
        const int input = to.find_operand(ts::operand_kind::input, slot);
        const search::configuration_options offered{.powers_of = 0, .uneven = true};
        const auto writers = search::enumerate(from, on.devices(), offered);
        const auto readers = search::enumerate(to, on.devices(), offered);
        search::detail::lane_loads::tiles written;
        search::detail::lane_loads::tiles needed;
        std::vector<ts::configuration> some_writers;
        std::vector<ts::configuration> some_readers;
        for (int i = 0; i < pairs; ++i) {
            some_writers.push_back(writers[ts::to_size(pick(static_cast<int>(writers.size())))]);
            some_readers.push_back(readers[ts::to_size(pick(static_cast<int>(readers.size())))]);
            REQUIRE(written.add(from, from.output(), some_writers.back()));
            REQUIRE(needed.add(to, input, some_readers.back()));
        }
        const index_t bytes = ts::bytes_of(to.operands[input].type);
        const bool gradient = to.operands[input].differentiable;
        const auto times = lanes.edge_times(written, needed, bytes, gradient);
        std::size_t next = 0;
        for (const ts::configuration& a : some_writers) {
            for (const ts::configuration& b : some_readers) {
                REQUIRE(times[next++] == by_all_pairs(on, from, a, to, input, b, bytes, gradient));
                ++compared;
            }
        }
    });
    return compared;
}

} // namespace

TEST_CASE("the time of an edge on a device graph is that of all pairs of shards on all lanes between them") {
    test_support::random pick(5);
    int compared = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        const ts::cluster on(test_support::random_machine(2 + pick(7), pick));
        compared += compare(on, test_support::random_network(seed), 4, pick);
    }
    CHECK(compared > 1000);
}

TEST_CASE("devices whose bytes to others need no look at each of them: alone behind a switch, by nodes, or none") {
    const auto near = [](const ts::device_graph& g) {
        const search::detail::device_blocks blocks{ts::cluster(g)};
        return blocks.has_far() ? static_cast<int>(blocks.near(0).size()) : 0;
    };
    CHECK(near(ts::machines::a100_nodes(1)) == 1);
    CHECK(near(ts::machines::p100_nodes(4)) == 4);
    CHECK(near(ts::machines::p100_nodes(2, 2)) == 2);
    CHECK(near(ts::machines::p100_nodes(1)) == 0); // a link between every two
    CHECK(near(ts::machines::a100_nodes(2)) == 0); // rails: the way depends on both ends

    ts::device_graph star; // from and to the last one it takes longer
    star.name = "star";
    star.add_class(ts::machines::a100_nodes(1).classes[0]);
    const int hub = star.add_switch("hub");
    for (int d = 0; d < 5; ++d) {
        star.add_link(star.add_device(0, "device " + std::to_string(d)), hub, 1000, d < 4 ? 10 : 500'000);
    }
    CHECK(near(star) == 0);

    test_support::random pick(6);
    int compared = 0;
    for (const ts::device_graph& g :
         {ts::machines::a100_nodes(1), ts::machines::p100_nodes(4), ts::machines::p100_nodes(2, 3),
          ts::machines::k80_nodes(2), ts::machines::a100_nodes(2), ts::machines::heterogeneous(), star}) {
        const ts::cluster on(g);
        for (std::uint64_t seed = 50; seed < 56; ++seed) {
            CAPTURE(seed);
            compared += compare(on, test_support::random_network(seed), 3, pick);
        }
    }
    CHECK(compared > 500);
}
