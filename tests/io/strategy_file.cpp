// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/strategy_file.hpp"

#include "examples/networks.hpp"
#include "support/policies.hpp"
#include "support/random_pipeline.hpp"
#include "support/replaced.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace io = tessera::io;

std::string refusal(const ts::graph_view& g, const std::string& text) {
    try {
        io::strategy_from_text(g, text);
    } catch (const ts::error& e) {
        return e.what();
    }
    return "";
}

/// Everything that a strategy says about an operator, wherever its numbers lie in the pool.
std::vector<ts::index_t> meaning(const ts::strategy& s, int op) {
    const ts::configuration& c = s.ops[ts::to_size(op)];
    std::vector<ts::index_t> all;
    for (int l = 0; l < ts::max_loops; ++l) {
        all.push_back(c.degree[l]);
        for (int i = 0; c.cuts[l] >= 0 && i + 1 < c.degree[l]; ++i) {
            all.push_back(s.pool[ts::to_size(c.cuts[l] + i)]);
        }
        all.push_back(c.cuts[l] >= 0 && c.degree[l] > 1 ? 1 : 0);
    }
    for (const int x : {c.partial, c.replicate, c.stage, int{c.uneven}, int{c.reduces}, int{c.recompute}, int{c.ring},
                        int{c.devices >= 0}}) {
        all.push_back(x);
    }
    for (int i = 0; i < c.shards(); ++i) {
        all.push_back(c.devices >= 0 ? s.pool[ts::to_size(c.devices + i)] : c.start + c.stride * i);
    }
    return all;
}

const ts::graph& lenet() {
    static const ts::graph g = ts::describe<networks::lenet5>(12);
    return g;
}

} // namespace

TEST_CASE("strategy file: 400 random strategies and pipelines come back the same") {
    const ts::graph_view g = lenet().view();
    test_support::coverage seen;
    int schedules = 0;
    auto policies = test_support::small_policies(g, 3);
    policies.emplace_back("usual", ts::synchronization{});
    policies.emplace_back("average", ts::schedule::parameter_average(4));
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        test_support::pipeline_case c = test_support::random_pipeline(g, 6, seed, seen);
        c.how.steps_per_plan = 1 + static_cast<int>(seed % 3);
        c.how.parameters_on = static_cast<int>(seed % 7) - 1;
        c.how.overlap = seed % 3 == 0;
        c.how.sync = policies[seed % policies.size()].second;
        if (c.how.sync.average_every > 0) { // whole copies, updated by themselves
            c.how.parameters_on = -1;
            c.how.steps_per_plan *= c.how.sync.average_every;
        }
        if (c.how.sync.shards_parameters) {
            c.how.parameters_on = -1;
        }
        if (c.how.parameters_on >= 0) { // which is for one step at a time
            c.how.steps_per_plan = 1;
        }
        const std::string text = io::to_text(io::to_json(g, c.how, 6));
        const io::strategy_file back = io::strategy_from_text(g, text);
        CHECK(io::to_text(io::to_json(g, back.value, back.devices)) == text);
        CHECK(back.devices == 6);
        CHECK(back.value.micro_batches == c.how.micro_batches);
        CHECK(back.value.steps_per_plan == c.how.steps_per_plan);
        CHECK(back.value.parameters_on == c.how.parameters_on);
        CHECK(back.value.overlap == c.how.overlap);
        CHECK(back.value.statistics == c.how.statistics);
        CHECK(back.value.sync == c.how.sync);
        for (int op = 0; op < g.op_count; ++op) {
            CHECK(meaning(back.value, op) == meaning(c.how, op));
        }
        const ts::pipeline_schedule& a = back.value.schedule;
        const ts::pipeline_schedule& b = c.how.schedule;
        schedules += b.stages > 0 ? 1 : 0;
        CHECK(a.stages == b.stages);
        CHECK(a.workers == b.workers);
        CHECK(a.mirrored == b.mirrored);
        CHECK(a.keeps == b.keeps);
    }
    CHECK(schedules > 100);
    CHECK((seen.cuts > 20 && seen.replicas > 20 && seen.uneven > 20 && seen.several > 20));
}

TEST_CASE("strategy file: what is wrong is named") {
    const ts::graph_view g = lenet().view();
    ts::strategy s(g);
    s.ops[0].degree[0] = 2;
    s.place(0, {1, 0});
    s.ops[3].degree[0] = 3;
    s.cut(3, 0, {2, 8});
    const std::string good = io::to_text(io::to_json(g, s, 3));
    CHECK(refusal(g, good).empty());
    const auto says = [&](const char* from, const char* to, const char* words) {
        const std::string found = refusal(g, test_support::replaced(good, from, to));
        const bool it_does = found.find(words) != std::string::npos;
        CHECK_MESSAGE(it_does, found);
    };
    says("\"tessera_strategy\": 1", "\"tessera_strategy\": 3",
         "strategy file, line 2: /tessera_strategy is version 3, but this reads version 1");
    says("\"layer\": \"conv2\"", "\"layer\": \"conv7\"",
         "is 'conv7', but layer 3 of this network is 'conv2'; the strategy is for another network");
    says("\"kind\": \"conv2d\"", "\"kind\": \"linear\"", "but the layer 'conv1' of this network is a conv2d");
    says("[1, 0]", "[1, 0, 2]", "lists 3 devices for the layer 'conv1', which has 2 shards");
    says("[1, 0]", "[1, 99]",
         "/layers/0 cannot be: tessera: a shard is placed on a device that the machine does not have");
    says("[1, 0]", "[1, 3]", "the machine does not have [layer conv1, found 3, needed 3]");
    says("[1, 0]", "[1, -1]", "/layers/0/devices/1 is -1");
    says("\"sample\": 2", "\"colour\": 2",
         "/layers/0/splits/colour splits the layer 'conv1' along a dimension that it does not have");
    says("\"sample\": 2", "\"sample\": 0", "/layers/0/splits/sample is 0");
    says("[2, 8]", "[8, 2]",
         "cut points must increase strictly and lie inside the extent, one fewer than shards [layer conv2");
    says("[2, 8]", "[2, 12]", "[layer conv2, along sample, found 12, needed 12]");
    says("{\"sample\": 2}", "[2]", "/layers/0/splits is an array, but must be an object");
    says("\"statistics\": \"micro_batch\"", "\"statistics\": \"batch\"", "/statistics is \"batch\"");
    says("\"layer\": \"conv1\", ", "\"layer\": \"conv1\", \"recomputes\": true, ",
         "/layers/0/recomputes means nothing here");
    says("\"start\": 0, ", "", "has no \"start\"");
    ts::strategy listed(lenet().view()); // where shards run is said once
    listed.place(0, {1});
    listed.ops[0].start = 1;
    const std::string once = io::to_text(io::to_json(lenet().view(), listed, 2));
    const std::size_t list = once.find("\"devices\": [");
    REQUIRE(list != std::string::npos);
    CHECK(refusal(lenet().view(), once) == "");
    for (const char* twice : {"\"start\": 0, ", "\"stride\": 1, "}) {
        std::string both = once;
        both.insert(list, twice);
        CHECK(refusal(lenet().view(), both).find("is said beside a list of devices") != std::string::npos);
    }
}

TEST_CASE("strategy file: a strategy for another network") {
    const ts::graph_view g = lenet().view();
    const std::string lenet_text = io::to_text(io::to_json(g, ts::strategy(g), 2));
    const ts::graph small = ts::describe<networks::small_convnet>(12);
    CHECK(refusal(small.view(), lenet_text).find("is 'relu.0', but layer 1 of this network is 'max_pool.0'") !=
          std::string::npos);
    const ts::graph_view shorter{g.tensors, g.parameters, g.ops, g.tensor_count, g.parameter_count, g.op_count - 1};
    CHECK(refusal(shorter, lenet_text).find("this network has only " + std::to_string(g.op_count - 1) + " layers") !=
          std::string::npos);
    CHECK(
        refusal(g, io::to_text(io::to_json(shorter, ts::strategy(shorter), 2))).find("have no layer 'cross_entropy'") !=
        std::string::npos);
}

TEST_CASE("strategy file: messages that are none") {
    const ts::graph_view g = lenet().view();
    ts::strategy s(g);
    s.sync.messages = {{ts::exchange::server, 0, {{1, 0, 1}}}};
    s.sync.messages.push_back({ts::exchange::sliced, 0, {}}); // with every other gradient
    for (int p = 0; p < g.parameter_count; ++p) {
        if (p != 1) {
            s.sync.messages[1].slices.push_back({p, 0, 1});
        }
    }
    s.sync.sum_at = ts::sync_time::after_backward;
    const std::string good = io::to_text(io::to_json(g, s, 1));
    CHECK(refusal(g, good) == "");
    REQUIRE(good.find("\"server 1\"") != std::string::npos);
    for (const char* wrong :
         {"", "server", "servers 1", "server@ 1", "server@0 1", "server@01 1", "server 1 ", "server 1,2", "server 99",
          "server 1:0", "server 1:2/2", "server 1:0/1", "server  1", "ring -1"}) {
        CAPTURE(wrong);
        CHECK(refusal(g, test_support::replaced(good, "\"server 1\"", "\"" + std::string(wrong) + "\""))
                  .find("is the message") != std::string::npos);
    }
    CHECK(refusal(g, test_support::replaced(good, "\"after_backward\"", "\"later\"")).find("must be") !=
          std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "\"sum_at\"", "\"sums_at\"")) != "");
}

TEST_CASE("strategy file: schedules that do not hold together") {
    const ts::graph_view g = lenet().view();
    ts::strategy s(g);
    for (std::size_t op = 4; op < s.ops.size(); ++op) {
        s.ops[op].stage = 1;
        s.ops[op].start = 1;
    }
    s.follow(ts::schedule::gpipe(2, 3));
    const std::string good = io::to_text(io::to_json(g, s, 2));
    CHECK(refusal(g, good).empty());
    CHECK(refusal(g, test_support::replaced(good, "F0.0 F0.1", "F0.0 F0.0"))
              .find("forward of stage 0, micro-batch 0, found 2, needed 1]") != std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "F0.0 F0.1", "F0.0")).find("has 11 actions") != std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "F0.0 F0.1", "F0.0 G0.1")).find("has the action \"G0.1\"") !=
          std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "F0.0 F0.1", "F0.0  F0.1")).find("has the action \"\"") !=
          std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "F0.0 F0.1", "F0.0 F9.1"))
              .find(ts::to_text(ts::rule::action_outside_schedule)) != std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "\"stages\": 2", "\"stages\": 2000000"))
              .find("/schedule/stages is 2000000") != std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "\"stages\": 2", "\"stages\": 1048576")).find("has 12 actions") !=
          std::string::npos);
    CHECK(refusal(g, test_support::replaced(good, "\"keeps\": [2]", "\"keeps\": [3]")).find("/schedule/keeps/0 is 3") !=
          std::string::npos);
}
