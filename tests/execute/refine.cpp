// SPDX-License-Identifier: Apache-2.0
#include "support/networks.hpp"

#include <tessera/host.hpp>
#include <tessera/search/static_optcnn.hpp>

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

using found = ts::search::static_optcnn<test_networks::lenet5::network, 16, ts::machines::host_threads<2>>;

const ts::tried_strategy& row(const ts::refined_strategy& r, const std::string& name) {
    for (const ts::tried_strategy& t : r.tried) {
        if (t.name == name) {
            return t;
        }
    }
    throw ts::error("there is no row " + name);
}

} // namespace

TEST_CASE("refine gives the strategy that measured fastest, never a slower one than data parallel or one device") {
    const ts::host::devices devices(2);
    const auto best = ts::refine<test_networks::lenet5::network>(found{}, devices, ts::sgd{}, {},
                                                                 {.turns = 3, .turn_seconds = 0.002});
    REQUIRE(best.tried.size() >= 4);
    for (std::size_t i = 1; i < best.tried.size(); ++i) {
        CHECK(best.tried[i].refused == "");
        CHECK(best.tried[i - 1].milliseconds <= best.tried[i].milliseconds);
    }
    CHECK(best.tried[0].milliseconds <= row(best, "data parallel").milliseconds);
    CHECK(best.tried[0].milliseconds <= row(best, "one device").milliseconds);
    CHECK(row(best, "one device").devices == 1);
    CHECK(row(best, "one device").moved_bytes == 0);
    CHECK(row(best, "data parallel").devices == 2);
    CHECK(row(best, "data parallel").moved_bytes > 0);
    CHECK(to_text(best).find("ms a step") != std::string::npos);

    // What it gives can be trained, and is what it says.
    ts::trainer<test_networks::lenet5::network> trainer(devices, best, ts::sgd{});
    CHECK(trainer.batch() == 16);
    CHECK(trainer.training_plan().moved_bytes == best.tried[0].moved_bytes);
}

TEST_CASE("what does not fit in memory is refused with the reason and the rest still runs") {
    const ts::host::devices devices(2);
    const auto all = ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{},
                                                             devices, ts::sgd{}, {}, {.turns = 1, .turn_seconds = 0.0});
    ts::index_t least = all.tried[0].memory_bytes;
    ts::index_t most = least;
    for (const ts::tried_strategy& t : all.tried) {
        least = std::min(least, t.memory_bytes);
        most = std::max(most, t.memory_bytes);
    }
    REQUIRE(least < most);
    ts::session_options tight;
    tight.device_memory = least;
    const auto some =
        ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{}, devices,
                                                ts::sgd{}, tight, {.turns = 1, .turn_seconds = 0.0});
    CHECK(some.tried.front().refused == "");
    CHECK(some.tried.front().memory_bytes == least);
    CHECK(some.tried.back().refused.find("bytes") != std::string::npos);
    tight.device_memory = 1000;
    CHECK_THROWS_WITH_AS(ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{},
                                                                 devices, ts::sgd{}, tight),
                         doctest::Contains("no strategy can run"), ts::error);
}

TEST_CASE("refine wants the devices that the strategy was made for") {
    CHECK_THROWS_WITH_AS(ts::refine<test_networks::lenet5::network>(found{}, ts::host::devices(3)),
                         doctest::Contains("made for 2 devices and there are 3"), ts::error);
}
