// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/memory_profile.hpp"

#include "examples/networks.hpp"
#include "support/random_pipeline.hpp"
#include "tessera/machine/lanes.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/simulate/activities.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;

/// Bytes that a device holds at a time, tile by tile.
ts::index_t bytes_at(const ts::plan& p, const sim::timeline& t, int device, ts::index_t time) {
    ts::index_t sum = 0;
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        const ts::tile& x = p.tiles[i];
        if (x.device != device || x.alias >= 0 || x.on_host) {
            continue;
        }
        ts::index_t first = INT64_MAX;
        ts::index_t last = -1;
        bool kept = false;
        for (std::size_t k = 0; k < p.tiles.size(); ++k) {
            kept = kept || (p.tiles[k].keep && p.root(static_cast<int>(k)) == static_cast<int>(i));
        }
        std::vector<ts::access> touched;
        for (std::size_t k = 0; k < p.tasks.size(); ++k) {
            ts::accesses_of(p, p.tasks[k], touched);
            for (const ts::access& a : touched) {
                if (a.tile == static_cast<int>(i)) {
                    first = std::min(first, t.tasks[k].start);
                    last = std::max(last, t.tasks[k].end);
                }
            }
        }
        const bool lives = ts::is_persistent(x.kind) || (first <= time && (time < last || kept));
        sum += lives ? x.bytes : 0;
    }
    return sum;
}

} // namespace

TEST_CASE("memory over time: the sum of what lives, at every change") {
    const ts::graph network = ts::describe<networks::small_convnet>(6);
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    for (const auto& machine : {ts::machines::this_host(3), ts::machines::p100_nodes(1, 3)}) {
        const ts::cluster on(machine);
        for (std::uint64_t seed = 0; seed < 2; ++seed) {
            const ts::strategy s = test_support::random_pipeline(g, 3, seed, seen).how;
            ts::plan p = ts::lower(g, s.view(), 3, {.update = ts::sgd{.momentum = 0.9F}});
            ts::finish(g, p);
            const sim::timeline t = sim::simulate(g, p, on);
            const auto memory = sim::memory_over_time(p, t);
            REQUIRE(memory.size() == 3);
            for (int d = 0; d < 3; ++d) {
                const auto& mine = memory[ts::to_size(d)];
                CHECK(mine.front().time == 0);
                for (std::size_t i = 0; i < mine.size(); i += 1 + mine.size() / 12) {
                    CHECK(mine[i].bytes == bytes_at(p, t, d, mine[i].time));
                    CHECK((i == 0 || mine[i].time > mine[i - 1].time));
                }
                CHECK(mine.back().bytes >= p.persistent_bytes[ts::to_size(d)] - 64 * static_cast<int>(p.tiles.size()));
                // Threads that copy in turn keep the order that the plan's memory asks for: there the plan's peak
                // holds.
                for (const sim::memory_sample& m : mine) {
                    CHECK((!on.class_of(d).serial_copies || m.bytes <= t.peak_bytes[ts::to_size(d)]));
                }
            }
        }
    }
}

TEST_CASE("activities: they make up the timeline, and none of a device or a lane overlap") {
    const ts::graph network = ts::describe<networks::small_convnet>(8);
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    for (const auto& machine : {ts::machines::this_host(4), ts::machines::p100_nodes(1), ts::machines::k80_nodes(1)}) {
        const ts::cluster on(machine);
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            const ts::strategy s = test_support::random_pipeline(g, 4, seed, seen).how;
            ts::plan p = ts::lower(g, s.view(), 4);
            ts::finish(g, p);
            const sim::timeline t = sim::simulate(g, p, on);
            const sim::activity_trace a = sim::trace(g, p, on);
            CHECK(a.makespan == t.makespan);
            std::vector<ts::index_t> device_busy(4, 0);
            std::vector<ts::index_t> lane_busy(t.lane_busy.size(), 0);
            std::vector<std::vector<std::pair<ts::index_t, ts::index_t>>> rows(4 + lane_busy.size());
            for (const sim::busy_span& b : a.spans) {
                (b.device >= 0 ? device_busy[ts::to_size(b.device)] : lane_busy[ts::to_size(b.lane)]) +=
                    b.end - b.start;
                rows[ts::to_size(b.device >= 0 ? b.device : 4 + b.lane)].emplace_back(b.start, b.end);
                CHECK((b.device == -1) != (b.lane == -1)); // of a device or of a lane
                CHECK((b.device >= -1 && b.lane >= -1));
                CHECK(b.start >= t.tasks[ts::to_size(b.task)].start);
                CHECK(b.end <= t.tasks[ts::to_size(b.task)].end);
            }
            CHECK(device_busy == t.device_busy);
            CHECK(lane_busy == t.lane_busy);
            for (auto& row : rows) {
                std::sort(row.begin(), row.end());
                for (std::size_t i = 1; i < row.size(); ++i) {
                    CHECK(row[i].first >= row[i - 1].second);
                }
            }
        }
    }
}

TEST_CASE("lanes: every hop of every route is the lane that leads there") {
    for (const auto& machine : {ts::machines::v100_nodes(2), ts::machines::k80_nodes(2), ts::machines::h200_nodes(3)}) {
        const ts::cluster on(machine);
        const std::vector<ts::lane_place> lanes = ts::lanes_of(on.graph());
        REQUIRE(static_cast<int>(lanes.size()) == on.lanes());
        std::vector<int> component;
        for (std::size_t i = 0; i < machine.components.size(); ++i) {
            if (machine.components[i].device_class >= 0) {
                component.push_back(static_cast<int>(i));
            }
        }
        for (int a = 0; a < on.devices(); ++a) {
            for (int b = 0; b < on.devices(); ++b) {
                int here = component[ts::to_size(a)];
                for (const int lane : on.between(a, b).lanes) {
                    const ts::lane_place& p = lanes[ts::to_size(lane)];
                    REQUIRE(p.from == here);
                    here = p.to;
                    CHECK(machine.links[ts::to_size(p.link)].megabytes == on.lane_megabytes(lane));
                }
                CHECK(here == component[ts::to_size(b)]);
            }
        }
    }
    const ts::device_graph p100 = ts::machines::p100_nodes(1);
    CHECK(ts::text_of_lane(p100, ts::lanes_of(p100)[0]) == "gpu 0.0 -> gpu 0.1");
}
