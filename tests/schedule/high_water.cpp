// SPDX-License-Identifier: Apache-2.0
// What a step writes of every arena is what the plan predicts; schedules need as much of it as they promise; and what fits no single
// device trains on several.
#include "support/high_water.hpp"
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/baselines.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;
using ts::index_t;

#ifdef TESSERA_TEST_HOST
using backend = ts::host::backend;
#else
using backend = ts::reference::backend;
#endif

/// The end of the last tile that a task writes.
index_t last_byte(const ts::plan& p, int device) {
    index_t last = 0;
    for (const ts::task& t : p.tasks) {
        std::vector<int> written = t.writes;
        written.push_back(t.scratch);
        for (int w : written) {
            const ts::tile& x = p.tiles[static_cast<std::size_t>(w < 0 ? 0 : p.root(w))];
            last =
                w >= 0 && x.device == device && !ts::is_persistent(x.kind) ? std::max(last, x.offset + x.bytes) : last;
        }
    }
    return last;
}

struct water {
    std::vector<index_t> predicted;
    std::vector<index_t> touched;
    index_t most() const { return *std::max_element(touched.begin(), touched.end()); }
};

water measure(const ts::graph_view& g, const ts::strategy& s, int devices) {
    const ts::optimizer how = ts::sgd{.learning_rate = 0.01F, .momentum = 0.9F};
    backend b(how);
    ts::workers threads(devices);
    ts::session<backend> session(g, s, devices, how, {}, b, threads);
    const batch_data data(g, 5);
    water w;
    w.touched = touched_bytes(session, [&] { session.step(data.inputs); });
    w.predicted = session.training_plan().arena_bytes;
    for (int d = 0; d < devices; ++d) {
        const auto at = static_cast<std::size_t>(d);
        CAPTURE(d);
        CHECK(w.touched[at] == last_byte(session.training_plan(), d));
        CHECK(w.touched[at] <= w.predicted[at]);
        CHECK(w.predicted[at] - w.touched[at] < ts::arena_alignment);
    }
    return w;
}

} // namespace

TEST_CASE("a step writes the arena up to what the plan predicts, under every schedule, and as much as it promises") {
    namespace n = test_networks;
    const ts::device_class on = ts::machines::this_host(2).classes[0];
    for (const ts::graph& network : {ts::describe<n::unet::network>(16), ts::describe<n::residual_net::network>(16),
                                     ts::describe<n::mlp::network>(32)}) {
        const ts::graph_view g = network.view();
        const water alone = measure(g, ts::strategy(g), 1);
        for (const int devices : {2, 4}) {
            std::vector<std::pair<std::string, index_t>> most;
            for (const scheduled& x : all_schedules(devices, 8)) {
                if (x.order.stages > g.op_count) {
                    continue;
                }
                CAPTURE(x.name);
                CAPTURE(devices);
                most.emplace_back(x.name, measure(g, pipeline_of(g, x, on), devices).most());
            }
            const auto of = [&](const std::string& name) {
                for (const auto& [known, bytes] : most) {
                    if (known == name) {
                        return bytes;
                    }
                }
                return index_t{0};
            };
            MESSAGE(network.ops[0].name << ", " << devices << " devices: alone " << alone.most() << ", GPipe "
                                        << of("GPipe") << ", re-materialization " << of("GPipe, re-materialization")
                                        << ", 1F1B " << of("1F1B") << ", GEMS " << of("GEMS MASTER"));
            CHECK(of("GPipe") < alone.most());
            CHECK(of("GPipe, re-materialization") < of("GPipe"));
            CHECK(of("1F1B") < of("GPipe"));
            CHECK(of("GEMS MASTER") <= of("1F1B"));
            CHECK(of("GEMS MASTER") < of("fill-drain"));
        }
    }
}

TEST_CASE("a network that fits no single device trains as a pipeline and as a split") {
    namespace n = test_networks;
    const ts::graph network = ts::describe<n::mlp::network>(64);
    const ts::graph_view g = network.view();
    const ts::optimizer how = ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F};
    backend b(how);
    ts::workers threads(2);
    const ts::session<backend> whole(g, ts::strategy(g), 1, how, {}, b, threads);
    const ts::plan& p = whole.training_plan();
    ts::session_options options;
    options.device_memory = (p.arena_bytes[0] + p.persistent_bytes[0]) * 3 / 4;
    const auto session = [&](const ts::strategy& s, int devices) {
        return ts::session<backend>(g, s, devices, how, options, b, threads);
    };
    CHECK_THROWS_WITH_AS(session(ts::strategy(g), 1), doctest::Contains("device 0 needs"), ts::error);
    const ts::device_class on = ts::machines::this_host(2).classes[0];
    const scheduled rematerialized{"", ts::schedule::gpipe(2, 8), true};
    const scheduled one_by_one{"", ts::schedule::gems(2, 8), false};
    const batch_data data(g, 5);
    for (const ts::strategy& s :
         {pipeline_of(g, rematerialized, on), pipeline_of(g, one_by_one, on), ts::search::data_parallel(g, 2)}) {
        auto capped = session(s, 2);
        const double first = capped.step(data.inputs);
        double last = first;
        for (int i = 0; i < 40; ++i) {
            last = capped.step(data.inputs);
        }
        CHECK(last < 0.7 * first);
    }
}
