// SPDX-License-Identifier: Apache-2.0
// Opaque operators of network files: their shapes and costs are what the file says, they are planned and simulated on
// one device, and nothing runs them.
#include "tessera/op/opaque_operator.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/host.hpp"
#include "tessera/io/exchange/network_cpp.hpp"
#include "tessera/io/exchange/network_file.hpp"
#include "tessera/io/exchange/strategy_file.hpp"
#include "tessera/io/reports/shown_run.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/configurations.hpp"
#include "tessera/search/searches.hpp"

#include "support/refusal.hpp"
#include "support/replaced.hpp"
#include "support/same_network.hpp"

#include <doctest/doctest.h>

namespace {

using namespace test_support;
namespace ts = tessera;
namespace io = tessera::io;

const std::string text = R"({
  "tessera_network": 1, "name": "odd", "batch": 8,
  "nodes": [
    {"input": "x", "sample": [6], "type": "f32"},
    {"input": "which", "sample": [], "type": "i32"},
    {"name": "fc1", "kind": "linear", "reads": ["x"], "attributes": {"out": 12, "bias": true}},
    {"name": "odd", "kind": "opaque", "reads": ["fc1", "which"], "attributes":
      {"extent": [4, 3, 0, 0], "rank": 2, "flops": 123457, "kept": 11, "parameters": 10, "integers": 2}},
    {"name": "flat", "kind": "flatten", "reads": ["odd"]},
    {"name": "fc2", "kind": "linear", "reads": ["flat"], "attributes": {"out": 5, "bias": true}},
    {"input": "labels", "sample": [], "type": "i32"},
    {"name": "loss", "kind": "cross_entropy", "reads": ["fc2", "labels"]}
  ]
})";
constexpr int odd = 1;

ts::search::search_options options_of(const ts::search::search_record& search) {
    ts::search::search_options how;
    if (ts::find_option(search, "budget") != nullptr) {
        how.values.set("budget", 300);
    }
    return how;
}

} // namespace

TEST_CASE("opaque: shapes, operations and bytes are what the file says") {
    const io::network_file f = io::network_from_text(text);
    const ts::graph_view g = f.network.view();
    CHECK(g.tensors[g.ops[odd].output].extents == ts::make_shape(8, 4, 3));
    const ts::description d = g.describe(odd);
    CHECK(ts::forward_flops(d) == 8 * 123457);
    CHECK(ts::backward_flops(d) == 2 * 8 * 123457); // for fc1 and for the parameters; integers have no gradient
    CHECK(ts::forward_bytes(d, ts::loop_ranges(d).range) == 4 * (8 * 12 + 8 + 10 + 8 * 11 + 8 * 12));
    CHECK(g.parameters[g.ops[odd].parameters[0]].extents == ts::make_shape(10));
    const io::network_file large = io::network_from_text(text, 32);
    CHECK(ts::forward_flops(large.network.view().describe(odd)) == 32 * 123457);
    const io::network_file free = io::network_from_text(replaced(text, "\"flops\": 123457, ", ""));
    CHECK(ts::forward_flops(free.network.view().describe(odd)) == 0);
    const io::network_file less = io::network_from_text(replaced(text, "\"kept\": 11, ", ""));
    const ts::description none = less.network.view().describe(odd);
    CHECK(ts::forward_flops(none) == 8 * 123457);
    CHECK(ts::forward_bytes(none, ts::loop_ranges(none).range) == 4 * (8 * 12 + 8 + 10 + 8 * 12));
}

TEST_CASE("opaque: a file comes back the same, and is printed as a type") {
    const io::network_file f = io::network_from_text(text);
    const std::string again = io::to_text(io::to_json(f.network.view(), "odd"));
    const io::network_file back = io::network_from_text(again);
    CHECK(difference_of(f.network.view(), back.network.view()) == "");
    CHECK(io::to_text(io::to_json(back.network.view(), "odd")) == again);
    CHECK(contains(io::to_cpp(f.network.view(), "odd"), "ts::op_kind{&ts::op::opaque_record}"));
}

TEST_CASE("opaque: it is never split") {
    const io::network_file f = io::network_from_text(text);
    const ts::graph_view g = f.network.view();
    for (const bool uneven : {false, true}) {
        int offered = 0;
        ts::search::configuration_options any;
        any.powers_of = 0;
        any.uneven = uneven;
        ts::search::for_each_configuration(g.describe(odd), 8, any, [&](const ts::configuration& c) {
            CHECK(c.shards() == 1);
            ++offered;
        });
        CHECK(offered == 1);
    }
    ts::strategy s = ts::search::data_parallel(g, 4);
    CHECK(s.ops[0].shards() == 4);
    CHECK(s.ops[odd].shards() == 1);
    for (int loop = 0; loop < 2; ++loop) {
        ts::strategy split = s;
        split.ops[odd].degree[loop] = 2;
        CHECK(ts::check_strategy(g, split.view(), 4).broken == ts::rule::loop_not_splittable);
        CHECK(contains(message_of([&] { ts::require(g, split.view(), 4); }), "odd"));
        CHECK(contains(message_of([&] { io::to_json(g, split, 4); }), "odd"));
    }
}

TEST_CASE("opaque: searches plan it, and its time is simulated") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const io::network_file f = io::network_from_text(text);
    const io::network_file slow = io::network_from_text(replaced(text, "123457", "987654321012"));
    for (const char* name : {"optcnn", "mcmc", "data", "tofu"}) {
        CAPTURE(name);
        const auto& search = ts::search::search_named(name);
        for (const io::network_file* file : {&f, &slow}) {
            const ts::graph_view g = file->network.view();
            const ts::strategy s = ts::search::run(search, g, on, options_of(search)).best;
            CHECK(s.ops[odd].shards() == 1);
            const io::shown_run run = io::simulated_run(g, s, on);
            // forward, and backward of the input and the parameters, at a quarter of 10.6e12 operations a second
            const double floor = 3 * 8 * 987654321012.0 / (0.25 * 10.6e12) * 1e9;
            CHECK((static_cast<double>(run.simulated.makespan) > 0.8 * floor) == (file == &slow));
        }
    }
}

TEST_CASE("opaque: every backend refuses it by name, and says why") {
    const io::network_file f = io::network_from_text(text);
    const ts::graph_view g = f.network.view();
    ts::lower_options how;
    how.update = ts::sgd{};
    const ts::strategy s = ts::search::single_device(g);
    const auto refused = [&](auto backend) {
        auto p = ts::lower(g, s.view(), 1, how);
        ts::finish(g, p);
        return message_of([&] { backend.bind(p, g, nullptr); });
    };
    CHECK(contains(refused(ts::host::backend(ts::sgd{})), "odd cannot run: it is opaque"));
    CHECK(contains(refused(ts::reference::backend(ts::sgd{})), "opaque cannot run: it is opaque"));
    CHECK_FALSE(ts::host::supports(ts::op::opaque_record, ts::pass::forward, ts::precision::fp32));
}

TEST_CASE("opaque: what the file says wrongly is refused") {
    const auto said = [](const std::string& from, const std::string& to) {
        return message_of([&] { io::network_from_text(replaced(text, from, to)); });
    };
    CHECK(contains(said("[4, 3, 0, 0]", "[4, 0, 0, 0]"), "'odd') breaks a rule"));
    CHECK(contains(said("\"flops\": 123457", "\"flops\": -1"), "flops"));
    CHECK(contains(said("\"integers\": 2", "\"integers\": 1"), "'odd') breaks a rule"));
    CHECK(contains(said("\"fc1\", \"which\"", "\"x\", \"x\""), "'odd') breaks a rule")); // the second is no integers
    CHECK(said("\"sample\": [6]", "\"sample\": [7]") == "accepted");
    const std::string huge = replaced(text, "\"flops\": 123457", "\"flops\": 9007199254740992"); // 2^53 for a sample
    CHECK(message_of([&] { io::network_from_text(huge, 8); }) == "accepted");
    CHECK(contains(message_of([&] { io::network_from_text(huge, 64); }), "breaks a rule"));
}
