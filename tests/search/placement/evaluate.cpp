// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/placement/evaluate.hpp"
#include "random_costs.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

using namespace placement_test;

namespace {

sp::cost_graph chain(int nodes, index_t forward, index_t backward, index_t bytes) {
    sp::cost_graph g;
    g.name = "chain";
    for (int v = 0; v < nodes; ++v) {
        g.nodes.push_back({"n" + std::to_string(v), {{forward, backward}}, bytes, 0, 3, -1});
        if (v > 0) {
            g.edges.push_back({v - 1, v, bytes});
        }
    }
    return g;
}

tessera::cluster linked(int devices, index_t megabytes, index_t latency, index_t memory = 0) {
    tessera::machine m;
    m.devices = devices;
    m.link_megabytes = megabytes;
    m.link_latency = latency;
    m.capacity = memory;
    return tessera::cluster(tessera::fully_linked(m));
}

} // namespace

TEST_CASE("a chain takes the sum of its tasks and of the transfers over its cuts") {
    for (const int cuts : {0, 1, 3, 5}) {
        const tessera::cluster on = linked(6, 100, 700);
        const sp::cost_graph g = chain(12, 1000, 2000, 50);
        sp::assignment where;
        for (int v = 0; v < 12; ++v) {
            where.push_back(v * (cuts + 1) / 12);
        }
        const sp::outcome o = sp::evaluate(g, on, where);
        CHECK(o.step == 12 * 3000 + 2 * cuts * (700 + 500)); // 50 bytes at 100 MB/s are 500 ns
        CHECK(o.sent_bytes == 2 * cuts * 50);
        CHECK(o.feasible);
        // All outputs of a device live at the end of its forward tasks, and so does what came in.
        CHECK(o.peak_bytes[0] == 12 / (cuts + 1) * 53);
        if (cuts > 0) {
            CHECK(o.peak_bytes[1] == 12 / (cuts + 1) * 53 + 50);
        }
    }
}

TEST_CASE("devices work side by side, and a link carries one transfer after the other") {
    sp::cost_graph g;
    g.name = "fork";
    g.backward = false;
    g.nodes = {{"source", {{10, 0}}, 8, 0, 0, -1}, {"a", {{100, 0}}, 0, 0, 0, -1}, {"b", {{100, 0}}, 0, 0, 0, -1}};
    g.edges = {{0, 1, 8}, {0, 2, 8}};
    CHECK(sp::evaluate(g, linked(2, 1000, 5), {0, 0, 0}).step == 210);
    CHECK(sp::evaluate(g, linked(2, 1000, 5), {0, 0, 1}).step == 10 + 8 + 5 + 100);
    CHECK(sp::evaluate(g, linked(2, 1000, 5), {0, 1, 1}).sent_bytes == 8); // once for both
    sp::cost_graph two = g;
    two.nodes.push_back({"source too", {{10, 0}}, 8, 0, 0, -1});
    two.edges[1].from = 3;
    // Both sources run on device 0 one after the other, their outputs follow each other; b waits for a.
    CHECK(sp::evaluate(two, linked(2, 1000, 5), {0, 1, 1, 0}).step == 10 + 8 + 5 + 200);
    two.nodes[0].output_bytes = two.edges[0].bytes = 50; // the second waits for the link, from 20 to 60
    two.nodes[1].times = {{1, 0}};
    CHECK(sp::evaluate(two, linked(2, 1000, 5), {0, 1, 1, 0}).step == 10 + 50 + 8 + 5 + 100);
}

TEST_CASE("steps and memory are those of an interpreter that looks at every nanosecond") {
    std::mt19937 random(11);
    int crossed = 0;
    for (int round = 0; round < 400; ++round) {
        const int devices = 1 + below(random, 4);
        const tessera::cluster on(small_machine(random, devices, 0));
        const sp::cost_graph g = small_graph(random, 1 + below(random, 9), static_cast<int>(on.graph().classes.size()));
        sp::evaluator priced(g, on);
        for (int k = 0; k < 3; ++k) { // one evaluator serves many placements
            const sp::assignment where = random_placement(random, g.count(), devices);
            const slow_step slow(g, on, where);
            const sp::outcome o = priced.evaluate(where);
            CAPTURE(round);
            CHECK(o.step == slow.end);
            CHECK(o.peak_bytes == slow.peak);
            CHECK(priced.priced(where).step == slow.end);
            crossed += o.sent_bytes > 0 ? 1 : 0;
        }
    }
    CHECK(crossed > 500);
}

TEST_CASE("placements that need too much memory, break a group or use the wrong kind of device say so") {
    sp::cost_graph g = chain(4, 10, 10, 100);
    using test_support::contains;
    const auto why = [&](index_t memory, const sp::assignment& where) {
        const tessera::cluster on = linked(2, 1000, 5, memory);
        sp::evaluator priced(g, on);
        const sp::outcome o = priced.evaluate(where);
        CHECK(o.feasible == o.why.empty());
        if (o.why.empty() || contains(o.why, "memory")) {
            CHECK(o.feasible == priced.priced(where).feasible());
        }
        return o.why;
    };
    CHECK(why(0, {0, 0, 0, 0}) == "");
    CHECK(why(412, {0, 0, 0, 0}) == "");
    CHECK(why(411, {0, 0, 0, 0}) == "device 0 has 411 bytes of memory and needs 412");
    CHECK(why(411, {0, 0, 1, 1}) == "");
    CHECK(contains(why(305, {0, 0, 1, 1}), "device 1 has 305 bytes of memory and needs 306"));
    g.nodes[1].group = g.nodes[2].group = 7;
    CHECK(contains(why(0, {0, 0, 1, 1}), "of one group lie on devices 0 and 1"));
    g.nodes[0].times = {{sp::unsupported, sp::unsupported}, {5, 5}};
    std::mt19937 random(1);
    tessera::device_graph mixed = tessera::fully_linked(tessera::machine{2, 1, 1, 1000, 0, 0, 0});
    mixed.add_class(mixed.classes[0]);
    mixed.components[1].device_class = 1;
    const tessera::cluster on(mixed);
    CHECK(contains(sp::evaluate(g, on, {0, 0, 0, 0}).why, "'n0' cannot run on device 0"));
    CHECK(sp::evaluate(g, on, {1, 0, 0, 0}).feasible);
}

TEST_CASE("graphs that are not sound are refused by node or edge") {
    const tessera::cluster on = linked(2, 1000, 5);
    const auto message = [&](auto change) {
        sp::cost_graph g = chain(4, 10, 10, 100);
        change(g);
        return test_support::message_of([&] { (void)sp::evaluate(g, on, {0, 1, 0, 1}); });
    };
    using test_support::contains;
    CHECK(message([](auto&) {}) == "accepted");
    CHECK(contains(message([](auto& g) {
                       g.edges.push_back({3, 1, 0});
                   }),
                   "has a cycle: 'n1' -> 'n2' -> 'n3' -> 'n1'"));
    CHECK(contains(message([](auto& g) { g.edges.push_back({3, 4, 0}); }), "joins a node that does not exist"));
    CHECK(contains(message([](auto& g) { g.edges.push_back({3, 3, 0}); }), "joins a node to itself"));
    CHECK(contains(message([](auto& g) { g.edges[0].bytes = -1; }), "carries -1 bytes"));
    CHECK(contains(message([](auto& g) { g.nodes[2].times = {{-2, 0}}; }), "node 2 'n2' has a forward time of -2"));
    CHECK(contains(message([](auto& g) { g.nodes[2].times = {}; }), "has no times"));
    CHECK(contains(message([](auto& g) { g.nodes[2].times = {{1, 1}, {1, 1}}; }), "times for 2 kinds of devices"));
    CHECK(contains(message([](auto& g) { g.nodes[2].times = {{sp::unsupported, sp::unsupported}}; }), "on no kind"));
    CHECK(contains(message([](auto& g) { g.nodes[2].resident_bytes = -5; }), "bytes that are held -5"));
    CHECK(contains(message([](auto& g) {
                       g.nodes.pop_back();
                       g.edges.pop_back();
                   }),
                   "has 3 nodes, but the placement"));
    const sp::cost_graph g = chain(2, 1, 1, 1);
    CHECK(contains(test_support::message_of([&] { (void)sp::evaluate(g, on, {0, 2}); }), "there are devices 0 to 1"));
}
