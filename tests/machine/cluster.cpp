// SPDX-License-Identifier: Apache-2.0
#include "tessera/machine/cluster.hpp"

#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace {

namespace ts = tessera;
using ts::index_t;

ts::device_graph two_devices() {
    ts::device_graph g;
    g.name = "two";
    g.add_class({"small", {10, 20, 30}, 100, 1000, 5, false});
    g.add_device(0, "a");
    g.add_device(0, "b");
    g.add_link(0, 1, 50, 7);
    return g;
}

/// The words of the refusal, or nothing.
std::string refusal(const ts::device_graph& g) {
    try {
        ts::require(g);
    } catch (const ts::error& e) {
        return e.what();
    }
    return "";
}

bool says(const ts::device_graph& g, const char* words) { return refusal(g).find(words) != std::string::npos; }

/// The least sum of (latency + time of 2^20 bytes) in ps from one device to another by Bellman and Ford, passing
/// through switches alone.
index_t shortest(const ts::device_graph& g, int from, int to) {
    constexpr index_t far = INT64_MAX / 2;
    std::vector<index_t> distance(g.components.size(), far);
    distance[ts::to_size(from)] = 0;
    for (std::size_t round = 0; round < g.components.size(); ++round) {
        for (const ts::link& l : g.links) {
            const index_t length = l.latency * 1000 + (index_t{1} << 20) * 1'000'000 / l.megabytes;
            for (const auto& [a, b] : {std::pair{l.from, l.to}, std::pair{l.to, l.from}}) {
                const auto x = ts::to_size(a);
                const auto y = ts::to_size(b);
                if ((a == from || g.components[x].device_class < 0) && distance[x] < far) {
                    distance[y] = std::min(distance[y], distance[x] + length);
                }
            }
        }
    }
    return distance[ts::to_size(to)];
}

} // namespace

TEST_CASE("device graph: what is not sound is refused by name") {
    CHECK(refusal(two_devices()).empty());
    CHECK(says({}, "has no device"));
    auto g = two_devices();
    g.links.clear();
    CHECK(says(g, "no way leads from device 0 'a' to device 1 'b'"));
    g = two_devices();
    g.links[0].megabytes = 0;
    CHECK(says(g, "link 0 from component 0 to 1 has bandwidth 0"));
    g = two_devices();
    g.links[0].latency = -1;
    CHECK(says(g, "negative latency"));
    g = two_devices();
    g.links[0].to = 0;
    CHECK(says(g, "to itself"));
    g = two_devices();
    g.links[0].to = 9;
    CHECK(says(g, "does not exist"));
    g = two_devices();
    g.links[0].cables = 0;
    CHECK(says(g, "0 cables"));
    g = two_devices();
    g.classes[0].gigaflops[1] = 0;
    CHECK(says(g, "computes at rate 0 (matrix_product)"));
    g = two_devices();
    g.classes[0].memory_megabytes = 0;
    CHECK(says(g, "no memory bandwidth"));
    g = two_devices();
    g.components[1].device_class = 3;
    CHECK(says(g, "is of class 3, but there are 1"));
    g = two_devices();
    g.components[0].inside = 1;
    g.components[1].inside = 0;
    CHECK(says(g, "lies inside itself"));
    g = two_devices();
    g.components[0].inside = 12;
    CHECK(says(g, "which does not exist"));
    // Devices pass nothing on: a chain of three devices leaves its ends apart.
    g = two_devices();
    g.add_device(0, "c");
    g.add_link(1, 2, 50, 7);
    CHECK(says(g, "no way leads from device 0 'a' to device 2 'c'"));
    g.add_link(0, 2, 50, 7);
    CHECK(refusal(g).empty());
}

TEST_CASE("cluster: routes have the least length, on random graphs") {
    std::mt19937 random(7);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int routes = 0;
    for (int trial = 0; trial < 300; ++trial) {
        ts::device_graph g;
        g.add_class({"d", {1, 1, 1}, 1, 0, 0, false});
        const int switches = 1 + below(5);
        for (int i = 0; i < switches; ++i) {
            g.add_switch("s");
        }
        const int devices = 2 + below(5);
        for (int i = 0; i < devices; ++i) {
            g.add_device(0, "d");
        }
        const int count = switches + devices;
        for (int i = 0; i < 3 * count; ++i) {
            const int a = below(count);
            const int b = below(count);
            if (a != b) {
                g.add_link(a, b, 1 + below(1000), below(50), 1 + below(3), below(3) == 0);
            }
        }
        if (!refusal(g).empty()) {
            continue;
        }
        const ts::cluster c(g);
        for (int a = 0; a < c.devices(); ++a) {
            for (int b = 0; b < c.devices(); ++b) {
                const ts::route r = c.between(a, b);
                CHECK(r.lanes.empty() == (a == b));
                if (a == b) {
                    continue;
                }
                index_t slowest = INT64_MAX;
                index_t length = 0;
                for (int lane : r.lanes) {
                    REQUIRE(lane >= 0);
                    REQUIRE(lane < c.lanes());
                    slowest = std::min(slowest, c.lane_megabytes(lane));
                    length += (index_t{1} << 20) * 1'000'000 / c.lane_megabytes(lane);
                }
                CHECK(r.megabytes == slowest);
                CHECK(length + r.latency * 1000 == shortest(g, switches + a, switches + b));
                ++routes;
            }
        }
    }
    CHECK(routes > 1000);
}

TEST_CASE("cluster: lanes of two directions differ, those of a half-duplex link do not") {
    auto g = two_devices();
    CHECK(ts::cluster(g).between(0, 1).lanes[0] != ts::cluster(g).between(1, 0).lanes[0]);
    CHECK(ts::cluster(g).lanes() == 2);
    g.links[0].half_duplex = true;
    CHECK(ts::cluster(g).between(0, 1).lanes[0] == ts::cluster(g).between(1, 0).lanes[0]);
    CHECK(ts::cluster(g).lanes() == 1);
    CHECK(ts::cluster(g).between(0, 1).time(100) == 7 + 2000);
    CHECK(ts::cluster(g).between(0, 1).time(0) == 0);
}

TEST_CASE("presets: sound, of the right size, and linked as their sources say") {
    CHECK(ts::cluster(ts::machines::p100_nodes()).devices() == 16);
    CHECK(ts::cluster(ts::machines::k80_nodes()).devices() == 64);
    CHECK(ts::cluster(ts::machines::v100_nodes(2)).devices() == 16);
    CHECK(ts::cluster(ts::machines::a100_nodes(4)).devices() == 32);
    CHECK(ts::cluster(ts::machines::h100_nodes(128)).devices() == 1024);
    CHECK(ts::cluster(ts::machines::heterogeneous()).devices() == 6);
    CHECK(ts::cluster(ts::machines::this_host()).devices() == 2);

    const ts::cluster p100(ts::machines::p100_nodes());
    CHECK(p100.between(0, 3).megabytes == 20000); // NVLink within a node
    CHECK(p100.between(0, 3).lanes.size() == 1);
    CHECK(p100.between(0, 4).megabytes == 12000); // PCIe, InfiniBand, PCIe
    CHECK(p100.between(0, 4).lanes.size() == 4);
    CHECK(p100.node_of(0) == p100.node_of(3));
    CHECK(p100.node_of(0) != p100.node_of(4));

    const ts::cluster k80(ts::machines::k80_nodes());
    CHECK(k80.between(0, 1).lanes.size() == 2);                      // within a PCIe switch
    CHECK(k80.between(0, 2).lanes.size() == 4);                      // through the host
    CHECK(k80.between(0, 2).lanes[1] == k80.between(1, 3).lanes[1]); // which they share
    CHECK(k80.between(0, 63).megabytes == 7000);

    const ts::cluster v100(ts::machines::v100_nodes());
    for (int d = 0; d < 8; ++d) { // six NVLinks each
        index_t sum = 0;
        for (const ts::link& l : v100.graph().links) {
            const bool mine = v100.graph().components[ts::to_size(l.from)].name == "gpu 0." + std::to_string(d) ||
                              v100.graph().components[ts::to_size(l.to)].name == "gpu 0." + std::to_string(d);
            sum += mine && l.megabytes >= 25000 ? l.megabytes : 0;
        }
        CHECK(sum == 6 * 25000);
    }
    const ts::cluster h200(ts::machines::h200_nodes(2048));
    CHECK(h200.devices() == 16384);
    CHECK(h200.between(0, 7).megabytes == 450000);
    CHECK(h200.between(0, 8).lanes.size() == 2);     // one rail, one leaf
    CHECK(h200.between(0, 16383).lanes.size() <= 5); // another leaf and another rail
    CHECK(h200.between(0, 16383).megabytes == 50000);
}

TEST_CASE("cluster: to and from the machine of the additive model") {
    const ts::machine m = ts::machines::p100_cluster(4);
    CHECK(ts::uniform_machine(ts::cluster(ts::fully_linked(m))) == m);
    const ts::machine p100 = ts::uniform_machine(ts::cluster(ts::machines::p100_nodes()));
    CHECK(p100.devices == 16);
    CHECK(p100.gigaflops == 10600);
    CHECK(p100.link_megabytes == 12000);
    CHECK(ts::uniform_machine(ts::cluster(ts::machines::heterogeneous())).gigaflops == 10600);
    // The first so many of a machine's devices are a machine of their own.
    const ts::cluster k80(ts::machines::k80_nodes(4));
    for (const int nodes : {1, 2, 4}) {
        CHECK(ts::uniform_machine(k80, ts::precision::fp32, 4 * nodes) ==
              ts::uniform_machine(ts::cluster(ts::machines::k80_nodes(nodes))));
    }
}

TEST_CASE("machines of today: what their data sheets say, and every two devices have a way") {
    using ts::precision;
    using ts::work_kind;
    const auto rate = [](const ts::device_graph& g, precision p) {
        return g.classes[0].rate(work_kind::matrix_product, p);
    };
    const ts::device_graph h100 = ts::machines::h100_nodes();
    CHECK(rate(h100, precision::fp16) == 989500);
    CHECK(rate(h100, precision::fp8) == 1979000);
    CHECK(h100.classes[0].rate(work_kind::elementwise, precision::fp8) == 67000);
    const ts::device_graph a100 = ts::machines::a100_nodes();
    CHECK(!a100.classes[0].has(precision::fp8));
    CHECK(rate(a100, precision::fp8) == 312000); // as bf16
    const ts::device_graph v100 = ts::machines::v100_nodes();
    CHECK(v100.classes[0].has(precision::fp16));
    CHECK(!v100.classes[0].has(precision::bf16));
    const ts::device_graph b200 = ts::machines::b200_nodes(2);
    CHECK(b200.device_count() == 16);
    CHECK(rate(b200, precision::bf16) == 2250000);
    const ts::cluster gb200(ts::machines::gb200_nvl72(2));
    CHECK(gb200.devices() == 144);
    CHECK(gb200.between(0, 71).megabytes == 900000);
    CHECK(gb200.between(0, 143).megabytes == 50000);
    CHECK(gb200.node_of(71) != gb200.node_of(72));
    const ts::cluster mi300x(ts::machines::mi300x_nodes(2));
    CHECK(mi300x.devices() == 16);
    CHECK(mi300x.between(2, 7).megabytes == 64000);
    CHECK(mi300x.between(2, 7).lanes.size() == 1);
    CHECK(mi300x.between(2, 10).megabytes == 50000);
    for (const int cubes : {1, 2, 4}) {
        const ts::cluster tpu(ts::machines::tpu_v5p(cubes));
        CHECK(tpu.devices() == 64 * cubes);
        int longest = 0;
        for (int d = 1; d < tpu.devices(); ++d) {
            longest = std::max(longest, tpu.between(0, d).lanes.size());
        }
        CHECK(longest == 2 + (cubes == 1 ? 6 : cubes == 2 ? 8 : 10)); // half of each side, and two routers
        CHECK(tpu.between(0, 3).lanes.size() == (cubes > 1 ? 5 : 3));
        CHECK(tpu.between(0, 1).megabytes == 100000);
    }
    CHECK_THROWS_WITH_AS(ts::machines::tpu_v5p(3), doctest::Contains("1, 2 or 4 cubes"), ts::error);
}
