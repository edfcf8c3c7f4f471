// SPDX-License-Identifier: Apache-2.0
// What crosses between the devices of one part of a machine occupies the lanes that other parts' devices use at the
// same time for all of them.
#include "support/planned.hpp"

#include "tessera/net/with_batch.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

struct fc1 : ts::linear<48> {};
struct fc2 : ts::linear<36> {};
struct fc3 : ts::linear<12> {};
struct three_layers : ts::sequential<ts::features<24>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

/// Parts of two devices, one at either of two switches: all that crosses within the parts goes over the one trunk
/// between these.
ts::cluster with_trunk(int parts) {
    ts::device_graph g;
    g.add_class({"d", {1000, 1000, 1000}, 100'000, 0, 0, false});
    for (int d = 0; d < 2 * parts; ++d) {
        g.add_device(0, "d" + std::to_string(d));
    }
    const int left = g.add_switch("left");
    const int right = g.add_switch("right");
    for (int d = 0; d < 2 * parts; ++d) {
        g.add_link(d, d % 2 == 0 ? left : right, 100, 0);
    }
    g.add_link(left, right, 100, 0);
    return ts::cluster(g);
}

/// Every operator on samples over the parts; within a part the linear ones by what they put out, which all the others'
/// samples go into.
ts::strategy mixed(const ts::graph_view& g, int parts) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        ts::configuration& c = s.ops[ts::to_size(op)];
        const bool linear = op % 2 == 0;
        c.degree[0] = linear ? parts : 2 * parts;
        c.degree[1] = linear ? 2 : 1;
    }
    return s;
}

} // namespace

TEST_CASE("copies within one part of a machine keep a lane that other parts share as busy as the whole machine's do") {
    constexpr int samples = 24;
    const ts::graph network = ts::describe<three_layers>(samples);
    for (const int parts : {2, 3}) {
        const ts::cluster on = with_trunk(parts);
        const ts::graph small = ts::with_batch(network.view(), samples / parts);
        ts::lower_options o;
        o.kind = ts::run_kind::evaluation;
        const auto plan_of = [&](const ts::graph_view& g, int of) {
            return ts::lower(g, mixed(g, of).view(), on.devices(), o);
        };
        const ts::plan all = plan_of(network.view(), parts);
        const ts::plan one = plan_of(small.view(), 1);
        CHECK(all.moved_bytes == parts * one.moved_bytes);
        CHECK(one.moved_bytes > 1000);
        const sim::timeline whole = sim::simulate(network.view(), all, on);
        sim::task_times times;
        times.parts = parts;
        const sim::timeline part = sim::simulate(small.view(), one, on, times);
        index_t busy = 0;
        for (const int from : {0, 1}) {
            const ts::route r = on.between(from, 1 - from);
            REQUIRE(r.lanes.size() == 3);
            for (const int lane : r.lanes) {
                const index_t wanted = whole.lane_busy[ts::to_size(lane)];
                const index_t found = part.lane_busy[ts::to_size(lane)];
                CAPTURE(parts);
                CAPTURE(lane);
                CAPTURE(wanted);
                CAPTURE(found);
                CHECK(std::abs(found - wanted) <= wanted / 500);
            }
            busy += part.lane_busy[ts::to_size(r.lanes[1])];
        }
        const index_t wire = all.moved_bytes * 1000 / 100; // ns, each byte over the trunk
        CHECK(std::abs(busy - wire) <= wire / 500);
        CHECK(std::abs(part.makespan - whole.makespan) <= whole.makespan / 100);
    }
}
