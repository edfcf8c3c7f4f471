// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/layer_profile_file.hpp"
#include "support/refusal.hpp"
#include "support/replaced.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tessera;
using search::placement::layer_profile;

namespace {

const std::string good = "node1 -- Input0 -- forward_compute_time=635.902, backward_compute_time=0.000, "
                         "activation_size=64.0, parameter_size=0.000\n"
                         "node3 -- LSTM(8, 4) -- forward_compute_time=1.5, backward_compute_time=2.25, "
                         "activation_size=[64.0; 16.0], parameter_size=1024.000\n"
                         "node2 -- __getitem__(1) -- forward_compute_time=0.000, backward_compute_time=0.000, "
                         "activation_size=16.0, parameter_size=0.000 -- stage_id=1\n"
                         "\tnode1 -- node3\n"
                         "\tnode3 -- node2";

std::string refused(const std::string& text, const std::string& what, const std::string& by) {
    const std::string changed = test_support::replaced(text, what, by);
    return test_support::message_of([&] { (void)io::profile_from_text(changed, "p"); });
}

} // namespace

TEST_CASE("a profile is read as it stands, and becomes costs in ns and bytes") {
    const layer_profile p = io::profile_from_text(good, "p");
    REQUIRE(p.layers.size() == 3);
    CHECK(p.layers[1].kind == "LSTM(8, 4)");
    CHECK(p.layers[1].output_bytes == std::vector<double>{64, 16});
    CHECK(p.layers[2].stage == 1);
    CHECK(p.layers[2].item() == 1);
    CHECK(p.edges == std::vector<std::pair<int, int>>{{0, 1}, {1, 2}});
    const search::placement::cost_graph g = to_cost_graph(p, {.parameter_copies = 2});
    CHECK(g.nodes[0].times.front() == search::placement::task_time{0, 0}); // the data loader is no task
    CHECK(g.nodes[0].output_bytes == 0);
    CHECK(g.nodes[1].times.front() == search::placement::task_time{1'500'000, 2'250'000});
    CHECK(g.nodes[1].output_bytes == 80);
    CHECK(g.nodes[1].resident_bytes == 2048);
    CHECK(g.edges[0].bytes == 0);
    CHECK(g.edges[1].bytes == 16); // the tensor that it picks
    CHECK(io::profile_from_text(io::profile_text(p), "p") == p);
}

TEST_CASE("random profiles come back from their text") {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> any(0, 1000);
    for (int round = 0; round < 100; ++round) {
        layer_profile p;
        p.name = "p";
        const int count = 2 + static_cast<int>(random() % 20);
        for (int v = 0; v < count; ++v) {
            search::placement::profiled_layer l;
            l.id = "node" + std::to_string(v * 7 % 1000);
            l.kind = "Conv2d(3, " + std::to_string(v) + ")";
            l.forward_ms = any(random);
            l.backward_ms = any(random) * 1e-6;
            l.output_bytes.assign(1 + random() % 3, any(random));
            l.parameter_bytes = any(random) * 1e6;
            l.stage = static_cast<int>(random() % 4) - 1;
            p.layers.push_back(l);
            if (v > 0) {
                p.edges.push_back({static_cast<int>(random() % static_cast<unsigned>(v)), v});
            }
        }
        CHECK(io::profile_from_text(io::profile_text(p), "p") == p);
    }
}

TEST_CASE("what is no profile is refused with its line") {
    using test_support::contains;
    CHECK(refused(good, "node1", "node1") == "accepted");
    CHECK(contains(refused(good, "node3 -- LSTM", "node1 -- LSTM"), "p, line 2 is another layer called 'node1'"));
    CHECK(contains(refused(good, "1.5", "-1.5"), "p, line 2 gives the forward time as \"-1.5\""));
    CHECK(contains(refused(good, "2.25", "nan"), "gives the backward time as \"nan\""));
    CHECK(contains(refused(good, "2.25", "inf"), "gives the backward time as \"inf\""));
    CHECK(contains(refused(good, "2.25", "1e400"), "gives the backward time as"));
    CHECK(contains(refused(good, "2.25", "1e15"), "a backward time in ns of"));
    CHECK(contains(refused(good, "[64.0; 16.0]", "[64.0; 16.0"), "a list ends with ]"));
    CHECK(contains(refused(good, "backward_compute_time=2.25, ", ""), "where \"backward_compute_time=...\" belongs"));
    CHECK(contains(refused(good, "\tnode3 -- node2", "\tnode3 -- node4"), "line 5 joins 'node4', but no layer"));
    CHECK(contains(refused(good, "\tnode3 -- node2", "\tnode3 -- node3"), "line 5 joins 'node3' to itself"));
    CHECK(contains(refused(good, "\tnode3 -- node2", "\tnode1 -- node3"), "line 5 is an edge that was there before"));
    CHECK(contains(refused(good, "\tnode3 -- node2", "\tnode3 - node2"), "an edge is \"name -- name\""));
    CHECK(contains(refused(good, "\n\tnode3 -- node2", ""), "no edge joins the layer 'node2'"));
    CHECK(contains(refused(good, "\tnode3 -- node2", "\tnode3 -- node2\n\tnode2 -- node1"), "has a cycle: "));
    CHECK(contains(refused(good, "\tnode1", "\n\tnode1"), "line 4 is empty"));
    CHECK(contains(refused(good, "stage_id=1", "stage_id=1.5"), "gives the stage as"));
    CHECK(contains(refused(good, "node1", "no de1"), "names have letters"));
    CHECK(contains(refused(good, "\tnode3 -- node2", good), "is a layer after the edges"));
    CHECK(contains(test_support::message_of([] { (void)io::profile_from_text("", "p"); }), "has no layers"));
    for (std::size_t cut = good.find('\n') + 2; cut + 1 < good.size();
         ++cut) { // cut short anywhere after the first layer
        const std::string message =
            test_support::message_of([&] { (void)io::profile_from_text(good.substr(0, cut), "p"); });
        CAPTURE(cut);
        CHECK(message != "accepted");
    }
}
