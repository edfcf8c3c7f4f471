// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/split_problem_file.hpp"
#include "search/placement/random_split_problem.hpp"
#include "support/refusal.hpp"
#include "support/replaced.hpp"
#include "tessera/search/placement/contiguous.hpp"

#include <doctest/doctest.h>

using namespace tessera;
using namespace placement_test;

namespace {

const std::string good = R"({"maxSizePerFPGA": 100.0, "maxFPGAs": 2, "maxCPUs": 1,
"nodes": [
{"name": "a", "id": 5, "supportedOnFpga": 1, "cpuLatency": 10.0, "fpgaLatency": 1.0, "isBackwardNode": 0, "colorClass": 9, "size": 8.0},
{"name": "b", "id": 7, "supportedOnFpga": true, "cpuLatency": 20, "fpgaLatency": 2, "isBackwardNode": false, "layerId": 3, "size": 8.0},
{"name": "c", "id": 6, "supportedOnFpga": false, "cpuLatency": 3, "fpgaLatency": 0.5, "isBackwardNode": true, "colorClass": 9}],
"edges": [
{"sourceId": 5, "destId": 7, "cost": 0.25, "size": 64.0},
{"sourceId": 5, "destId": 6, "cost": 0.25},
{"sourceId": 7, "destId": 6, "cost": 0.5}]})";

std::string refused(const std::string& what, const std::string& by) {
    const std::string text = test_support::replaced(good, what, by);
    return test_support::message_of([&] { (void)io::split_problem_from_text(text, "p"); });
}

} // namespace

TEST_CASE("a file of dnn-partitioning is read as it stands") {
    const sp::split_problem p = io::split_problem_from_text(good, "p");
    CHECK(p.memory == 100);
    CHECK(p.accelerators == 2);
    CHECK(p.cpus == 1);
    REQUIRE(p.nodes.size() == 3);
    CHECK(p.nodes[0].group == 0);
    CHECK(p.nodes[1].group == -1);
    CHECK(p.nodes[2].group == 0);
    CHECK(p.nodes[0].output_cost == 0.25);
    CHECK(p.nodes[1].output_cost == 0.5);
    CHECK_FALSE(p.nodes[2].accelerated);
    CHECK(p.nodes[2].backward);
    CHECK(p.nodes[2].size == 0);
    CHECK(p.edges[0].bytes == 64);
    CHECK(p.edges[1] == sp::split_edge{0, 2, -1});
    // Node 6 runs on a CPU alone and takes 5 with it; 7 costs 2 and what it reads and makes.
    const sp::contiguous_found best = sp::contiguous_optimum(p);
    CHECK(best.load == doctest::Approx(13));
    CHECK(best.devices[0] == 2);
}

TEST_CASE("random problems, and splits of them, come back from their text") {
    std::mt19937 random(29);
    for (int round = 0; round < 100; ++round) {
        sp::split_problem p = random_problem(random, {12, 4, round % 2 == 0, round % 3 == 0});
        const sp::split_problem back = io::split_problem_from_text(io::to_text(io::to_json(p)), "random");
        CHECK(back.nodes.size() == p.nodes.size());
        CHECK(io::split_problem_from_text(io::to_text(io::to_json(back)), "random") == back);
        sp::split s;
        for (std::size_t v = 0; v < p.nodes.size(); ++v) {
            s.push_back(static_cast<int>(random() % static_cast<unsigned>(p.devices())));
        }
        CHECK(sp::loads(back, s) == sp::loads(p, s));
        CHECK(io::split_from_text(p, io::to_text(io::to_json(p, s))) == s);
    }
}

TEST_CASE("what is no split problem is refused with its line and member") {
    using test_support::contains;
    CHECK(refused("\"a\"", "\"a\"") == "accepted");
    CHECK(contains(refused("\"id\": 7", "\"id\": 5"), "p, line 4: /nodes/1/id is 5, which another node has already"));
    CHECK(contains(refused("\"destId\": 7", "\"destId\": 8"), "p, line 7: /edges/0/destId is 8, but no node"));
    CHECK(contains(refused("\"cpuLatency\": 20", "\"cpuLatency\": -20"), "/nodes/1/cpuLatency is -20"));
    CHECK(contains(refused("\"cpuLatency\": 20", "\"cpuLatency\": 1e19"), "must be a number from 0 to 1e18"));
    CHECK(refused("\"cpuLatency\": 20", "\"cpuLatency\": 1e999") != "accepted");
    CHECK(refused("\"cpuLatency\": 20", "\"cpuLatency\": NaN") != "accepted");
    CHECK(contains(refused("\"cpuLatency\": 20", "\"cpuLatncy\": 20"), "did you mean cpuLatency?"));
    CHECK(contains(refused("\"cpuLatency\": 20, ", ""), "/nodes/1 has no \"cpuLatency\""));
    CHECK(contains(refused("\"supportedOnFpga\": 1", "\"supportedOnFpga\": 2"), "from 0 to 1"));
    CHECK(contains(refused("\"maxFPGAs\": 2", "\"maxFPGAs\": 2000"), "from 0 to 1024"));
    CHECK(contains(refused("\"maxFPGAs\": 2", "\"maxFPGAs\": 2.5"), "whole number"));
    CHECK(contains(refused("\"destId\": 6, \"cost\": 0.25", "\"destId\": 6, \"cost\": 0.75"),
                   "p, line 8: /edges/1/cost is 0.75"));
    CHECK(contains(refused("\"sourceId\": 7, \"destId\": 6", "\"sourceId\": 7, \"destId\": 5"), "has a cycle"));
    CHECK(contains(refused("\"isBackwardNode\": 0", "\"isBackwardNode\": 1"), "backward nodes come last"));
    CHECK(contains(refused("\"sourceId\": 5, \"destId\": 7", "\"sourceId\": 5, \"destId\": 5"), "to itself"));
    CHECK(refused("\"name\": \"a\"", "\"comment\": \"a\"") == "accepted"); // for people to read
    for (std::size_t cut = 0; cut < good.size(); ++cut) {                  // a file that is cut short anywhere
        CHECK_THROWS_AS((void)io::split_problem_from_text(good.substr(0, cut), "p"), error);
    }
}

TEST_CASE("a split may leave out what goes with its group, and is else refused by its line") {
    const sp::split_problem p = io::split_problem_from_text(good, "p");
    const auto read = [&](const std::string& text) { return io::split_from_text(p, text, "s"); };
    const auto message = [&](const std::string& text) { return test_support::message_of([&] { (void)read(text); }); };
    using test_support::contains;
    const std::string expert = R"({"fpgas": [{"load": -1, "nodes": [7]}, {"nodes": []}], "cpus": [{"nodes": [5]}]})";
    CHECK(read(expert) == sp::split{2, 0, 2});
    CHECK(contains(message(R"({"fpgas": [{"nodes": [7]}], "cpus": []})"), "node 5 is on no device, nor is its group"));
    CHECK(contains(message(R"({"fpgas": [{"nodes": [4]}], "cpus": []})"), "is 4, but no node has that id"));
    CHECK(contains(message(R"({"fpgas": [{"nodes": [5, 5]}], "cpus": []})"), "has a device already"));
    CHECK(contains(message(R"({"fpgas": [], "cpus": [{"nodes": []}, {"nodes": [5]}]})"),
                   "one device more than there are"));
}
