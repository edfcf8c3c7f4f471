// SPDX-License-Identifier: Apache-2.0
#include "tessera/cost/workspace.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/finished_step.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using ts::index_t;

struct wide : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct strided : ts::conv2d<8, ts::window<5>, ts::stride<2>> {};
struct pointwise : ts::conv2d<6, ts::window<1>> {};
struct halved : ts::conv2d<6, ts::window<1>, ts::stride<2>> {};
struct grouped : ts::conv2d<12, ts::window<3>, ts::padding<1>, ts::groups<2>> {};
struct head : ts::linear<6> {};
struct convolutions : ts::sequential<ts::image<4, 20, 20>, wide, strided, ts::relu, pointwise, halved, grouped,
                                     ts::flatten, head, ts::cross_entropy> {};

/// Elements of the patches of one sample, counted one by one as Caffe's lowering lays them out: an output place, a
/// channel, a place in the window.
index_t patches(index_t channels, index_t window, index_t side) { return channels * window * window * side * side; }

} // namespace

TEST_CASE("workspace of the model: one sample's patches of a convolution, whatever the batch; nothing where the "
          "operand is the matrix") {
    const ts::graph network = ts::describe<convolutions>(16);
    const ts::graph_view g = network.view();
    const index_t expected[] = {patches(4, 3, 20), patches(8, 5, 8), 0, 0, 0, patches(6, 3, 4), 0, 0, 0};
    for (const int parts : {1, 4}) { // of the samples
        for (int op = 0; op < g.op_count; ++op) {
            const ts::description d = g.describe(op);
            ts::interval ranges[ts::max_loops];
            for (int l = 0; l < d.loops.size(); ++l) {
                const bool samples = d.loops[l].name == ts::loop_name::sample;
                ranges[l] = ts::even_part(d.loops[l].extent, samples ? parts : 1, 0);
            }
            CAPTURE(op);
            CHECK(ts::cost::workspace_bytes(d, ranges) == 4 * expected[op]);
        }
    }
}

TEST_CASE("workspace of the model: a split by rows or by input channels takes its part; an empty shard nothing") {
    const ts::graph network = ts::describe<convolutions>(4);
    const ts::description d = network.view().describe(0);
    ts::interval ranges[ts::max_loops];
    const auto bytes_with = [&](ts::loop_name name, index_t end) {
        for (int l = 0; l < d.loops.size(); ++l) {
            ranges[l] = {0, d.loops[l].name == name ? end : d.loops[l].extent};
        }
        return ts::cost::workspace_bytes(d, ranges);
    };
    CHECK(bytes_with(ts::loop_name::height, 10) == 4 * patches(4, 3, 20) / 2);
    CHECK(bytes_with(ts::loop_name::reduction, 1) == 4 * patches(4, 3, 20) / 4);
    CHECK(bytes_with(ts::loop_name::channel, 2) == 4 * patches(4, 3, 20)); // every output channel takes all patches
    CHECK(bytes_with(ts::loop_name::sample, 0) == 0);
}

TEST_CASE("a plan that searches simulate holds workspaces: it is sound, and its peak is higher") {
    const ts::graph network = ts::describe<convolutions>(2);
    const ts::graph_view g = network.view();
    const ts::strategy s = ts::search::data_parallel(g, 2);
    const ts::cluster on(ts::machines::p100_nodes(1, 2));
    ts::plan plain = ts::lower(g, s.view(), 2);
    ts::plan bound = ts::search::bound_plan(g, s, 2);
    ts::finish(g, plain);
    ts::finish(g, bound);
    REQUIRE(bound.tasks.size() == plain.tasks.size());
    for (const ts::task& t : bound.tasks) {
        const bool takes =
            t.kind() == ts::task_kind::compute && ts::cost::workspace_bytes(g.describe(t.op), t.compute().ranges) > 0;
        CHECK((t.scratch >= 0) == takes);
    }
    CHECK(bound.arena_bytes[0] > plain.arena_bytes[0]);
    CHECK(bound.persistent_bytes == plain.persistent_bytes);
    const ts::search::finished_step step = ts::search::simulate_finished(g, on, s);
    CHECK(step.peak_bytes[0] == bound.arena_bytes[0] + bound.persistent_bytes[0]);
    CHECK(step.makespan ==
          ts::simulation::simulate(g, plain, on).makespan); // GPUs: what memory is used again for costs no time
}
