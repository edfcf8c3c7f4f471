// SPDX-License-Identifier: Apache-2.0
// What a step writes of every arena is what the plan predicts; schedules need as little of it as they promise; and what
// fits no single device trains on several.
#include "support/high_water.hpp"
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#ifdef TESSERA_TEST_HOST
#include "support/host_scratch.hpp"
#endif

#include <doctest/doctest.h>

#include <map>

namespace {

namespace ts = tessera;
using namespace test_support;
using ts::index_t;

#ifdef TESSERA_TEST_HOST
using backend = ts::host::backend;
#else
using backend = ts::reference::backend;
#endif

/// Scratch memory that need not be written to its end.
bool is_asked_for([[maybe_unused]] const ts::task& t) {
#ifdef TESSERA_TEST_HOST
    return is_onednn_scratch(t);
#else
    return false;
#endif
}

/// Arenas measured: those whose last bytes a task writes, and those whose last bytes oneDNN may leave.
struct arenas {
    int whole = 0;
    int asked = 0;
};

void measure(const ts::graph_view& g, const ts::strategy& s, int devices, arenas& seen) {
    const ts::optimizer how = ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F};
    backend b(how);
    ts::workers threads(devices);
    ts::session<backend> session(g, s, devices, how, {}, b, threads);
    const batch_data data(g, 5);
    const std::vector<index_t> touched = touched_bytes(session, [&] { session.step(data.inputs); });
    const std::vector<index_t>& predicted = session.training_plan().arena_bytes;
    for (int d = 0; d < devices; ++d) {
        const auto at = ts::to_size(d);
        CAPTURE(d);
        const arena_end end = end_of_arena(session.training_plan(), d, is_asked_for);
        CAPTURE(touched[at]);
        CAPTURE(end.written);
        CAPTURE(end.asked);
        CHECK(end.agrees(touched[at]));
        CHECK(end.last() <= predicted[at]);
        CHECK(predicted[at] - end.last() < ts::arena_alignment);
        ++(end.asked > end.written ? seen.asked : seen.whole);
    }
}

/// The arena of the fullest device, without what a backend adds.
index_t arena_of(const ts::graph_view& g, const ts::strategy& s, int devices) {
    const ts::plan p = planned(g, s, devices);
    return *std::max_element(p.arena_bytes.begin(), p.arena_bytes.end());
}

/// A network that is mostly parameters.
struct fc1 : ts::linear<256> {};
struct fc2 : ts::linear<256> {};
struct fc3 : ts::linear<256> {};
struct fc4 : ts::linear<256> {};
struct fc5 : ts::linear<10> {};
struct heavy : ts::sequential<ts::features<256>, fc1, ts::relu, fc2, ts::relu, fc3, ts::relu, fc4, ts::relu, fc5,
                              ts::cross_entropy> {};

} // namespace

TEST_CASE("a step writes every arena up to the last byte that the plan predicts, under every schedule") {
    namespace n = test_networks;
    const ts::device_class on = ts::machines::this_host(2).classes[0];
    arenas seen;
    for (const ts::graph& network : {ts::describe<n::unet::network>(16), ts::describe<n::residual_net::network>(16),
                                     ts::describe<n::mlp::network>(32)}) {
        const ts::graph_view g = network.view();
        measure(g, ts::strategy(g), 1, seen);
        for (const int devices : {2, 4}) {
            for (const scheduled& x : all_schedules(devices, 8)) {
                CAPTURE(x.name);
                CAPTURE(devices);
                if (x.order.stages <= g.op_count) {
                    measure(g, pipeline_of(g, x, on), devices, seen);
                }
            }
        }
    }
    MESSAGE(seen.whole << " arenas are written to the end, " << seen.asked << " end with what oneDNN has asked for");
    CHECK(seen.whole > 4 * seen.asked);
}

TEST_CASE("pipelines, recomputation and GEMS need as little of an arena as they promise") {
    namespace n = test_networks;
    const ts::device_class on = ts::machines::this_host(2).classes[0];
    for (const ts::graph& network : {ts::describe<n::unet::network>(64), ts::describe<n::residual_net::network>(64)}) {
        const ts::graph_view g = network.view();
        const index_t alone = arena_of(g, ts::strategy(g), 1);
        for (const int devices : {2, 4}) {
            std::map<std::string, index_t> of;
            for (const scheduled& x : all_schedules(devices, 8)) {
                if (x.order.stages <= g.op_count) {
                    of[x.name] = arena_of(g, pipeline_of(g, x, on), devices);
                }
            }
            MESSAGE(g.ops[0].name << ", " << devices << " devices: alone " << alone << ", fill-drain "
                                  << of["fill-drain"] << ", GPipe " << of["GPipe"] << ", re-materialization "
                                  << of["GPipe, re-materialization"] << ", 1F1B " << of["1F1B"] << ", GEMS "
                                  << of["GEMS"]);
            CHECK(of["fill-drain"] < alone);
            CHECK(of["GPipe, re-materialization"] < of["GPipe"]);
            CHECK(of["1F1B"] < of["GPipe"]);
            CHECK(of["GEMS"] < of["1F1B"]);
            CHECK(of["GEMS"] < of["GEMS, 2 micro-batches"]);
        }
    }
}

TEST_CASE("a network that fits no single device trains as a pipeline and as a split") {
    const ts::graph network = ts::describe<heavy>(32);
    const ts::graph_view g = network.view();
    const ts::optimizer how = ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F};
    backend b(how);
    ts::workers threads(2);
    const ts::session<backend> whole(g, ts::strategy(g), 1, how, {}, b, threads);
    const ts::plan& p = whole.training_plan();
    ts::session_options options;
    options.device_memory = (p.arena_bytes[0] + p.persistent_bytes[0]) * 4 / 5;
    const auto session = [&](const ts::strategy& s, int devices) {
        return ts::session<backend>(g, s, devices, how, options, b, threads);
    };
    CHECK_THROWS_WITH_AS(session(ts::strategy(g), 1), doctest::Contains("device 0 needs"), ts::error);
    const ts::device_class on = ts::machines::this_host(2).classes[0];
    const batch_data data(g, 5);
    for (const ts::strategy& s : {pipeline_of(g, {"", ts::schedule::one_forward_one_backward(2, 4), false}, on),
                                  ts::search::model_parallel(g, 2)}) {
        auto capped = session(s, 2);
        const double first = capped.step(data.inputs);
        double last = first;
        for (int i = 0; i < 60; ++i) {
            last = capped.step(data.inputs);
        }
        CHECK(last < 0.9 * first);
    }
}
