// SPDX-License-Identifier: Apache-2.0
// Outputs that wait in the host's memory: what they free, what their copies cost, and how few make a plan fit.
#include "support/planned.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/search/offload/within_memory.hpp"
#include "tessera/search/run.hpp"
#include "tessera/search/searches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace {

namespace ts = tessera;
namespace search = ts::search;
using test_support::planned;
using ts::index_t;

constexpr int blocks = 8;
constexpr index_t features = 64;
constexpr index_t samples = 4096;
constexpr index_t tile = samples * features * 4;
struct first : ts::linear<features> {};
struct second : ts::linear<features> {};
struct tower
    : ts::sequential<ts::features<features>, ts::repeat<blocks, first, ts::tanh, second, ts::tanh>, ts::cross_entropy> {
};

/// The outputs of all tanh offload: what backward reads of a block.
ts::strategy offloaded(const ts::graph_view& g, int devices = 1) {
    ts::strategy s = test_support::data_parallel(g, devices);
    for (const int op : search::outputs_to_offload(g, s)) {
        s.ops[ts::to_size(op)].offload = true;
    }
    return s;
}

} // namespace

TEST_CASE("offloaded outputs leave the device's memory, and lie in the host's") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        const ts::plan kept = planned(g, test_support::data_parallel(g, devices), devices);
        const ts::plan out = planned(g, offloaded(g, devices), devices);
        CHECK(kept.host_bytes.empty());
        CHECK(kept.arena_bytes[0] >= 2 * blocks * tile / devices);
        CHECK(out.arena_bytes[0] <= 6 * tile / devices + 8 * blocks * features * (features + 1) + 64 * 1024);
        REQUIRE(out.host_bytes.size() == ts::to_size(devices));
        // (The last product's output is none of them: the loss reads it, and is next.)
        CHECK(out.host_bytes[0] == 2 * blocks * tile / devices);
        CHECK(out.persistent_bytes == kept.persistent_bytes);
        CHECK(out.moved_bytes == kept.moved_bytes);
    }
}

TEST_CASE("a copy over the link to the host takes its bytes over the bandwidth, in each direction, beside the rest") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    ts::device_graph machine = ts::machines::h100_nodes(1);
    for (const index_t megabytes : {index_t{1000}, index_t{48000}}) {
        CAPTURE(megabytes);
        machine.classes[0].host_megabytes = megabytes;
        const ts::cluster on(machine);
        const auto at = [&](const ts::strategy& s) { return ts::simulation::simulate(g, planned(g, s, 1), on); };
        const ts::simulation::timeline kept = at(ts::strategy(g));
        const ts::simulation::timeline out = at(offloaded(g));
        const index_t way = 2 * blocks * (tile * 1000 / megabytes + 1);
        const std::size_t lanes = out.lane_busy.size();
        const std::size_t first_host = lanes - 3 * ts::to_size(on.devices());
        CHECK(out.lane_busy[first_host] == way);
        CHECK(out.lane_busy[first_host + 1] == way);
        CHECK(kept.lane_busy[first_host] == 0);
        CHECK(out.device_busy[0] == kept.device_busy[0]);
        CHECK(out.makespan >= std::max(kept.makespan, way));
        CHECK(out.makespan <= kept.makespan + 2 * way + 4 * blocks * machine.classes[0].launch);
        CHECK((megabytes == 1000) == (out.makespan > 2 * kept.makespan)); // a slow link is felt
    }
}

TEST_CASE("a machine that does not say how fast it reaches its host is refused by name") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    ts::device_graph machine = ts::machines::h100_nodes(1);
    machine.classes[0].host_megabytes = 0;
    const ts::cluster on(machine);
    CHECK_THROWS_WITH_AS((void)ts::simulation::simulate(g, planned(g, offloaded(g), 1), on),
                         doctest::Contains("nothing says how fast device class 'H100-SXM' reaches it; give "
                                           "host_megabytes_per_second"),
                         ts::error);
}

TEST_CASE("as few outputs offload as make the plan fit") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::h100_nodes(1));
    const ts::strategy s(g);
    const index_t all = search::simulate_finished(g, on, s).peak_bytes[0];
    const index_t least = search::simulate_finished(g, on, offloaded(g)).peak_bytes[0];
    REQUIRE(least < all);
    int before = 0;
    for (const index_t memory : {all, all - tile, all - 3 * tile, least + tile, least}) {
        CAPTURE(memory);
        const search::offload_found x = search::offload_within(g, on, s, {.memory = memory});
        CHECK(x.fits);
        CHECK(x.bytes <= memory);
        CHECK(x.operators >= before);
        CHECK((x.operators == 0) == (memory == all));
        before = x.operators;
        if (x.operators > 0) { // one less does not fit
            ts::strategy fewer = x.best;
            const std::vector<int> order = search::outputs_to_offload(g, s);
            fewer.ops[ts::to_size(order[ts::to_size(x.operators - 1)])].offload = false;
            CHECK(search::simulate_finished(g, on, fewer).peak_bytes[0] > memory);
        }
    }
    const search::offload_found none = search::offload_within(g, on, s, {.memory = tile});
    CHECK(!none.fits);
    CHECK(none.operators == 2 * blocks);
}

TEST_CASE("any search's strategy offloads until it fits, and says so") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    ts::device_graph machine = ts::machines::h100_nodes(1);
    const index_t least = search::simulate_finished(g, ts::cluster(machine), offloaded(g, 8)).peak_bytes[0];
    machine.classes[0].memory_bytes = least + tile / 8;
    const ts::cluster on(machine);
    search::search_options o;
    o.offload_to_fit = true;
    const search::search_found found = search::run(search::data_parallel_record, g, on, o);
    CHECK(search::fits(g, on, found.best, o.lowering));
    CHECK(found.text.find("outputs of ") != std::string::npos);
    CHECK(found.text.find("operators wait in the host's memory\n") != std::string::npos);
}

TEST_CASE("what waits in the host's memory is touched by the copies that bring it there and back alone") {
    const ts::graph network = ts::describe<tower>(64);
    const ts::graph_view g = network.view();
    const ts::plan sound = planned(g, offloaded(g), 1);
    REQUIRE(ts::verify(g, sound).text.empty());
    ts::plan without = sound; // which says that it has no such memory
    without.host_bytes.clear();
    CHECK(ts::verify(g, without).text.find("waits in the host's memory and is no activation of its own") !=
          std::string::npos);
    int refused = 0;
    for (std::size_t i = 0; i < sound.tasks.size(); ++i) {
        const ts::task& t = sound.tasks[i];
        if (t.kind() != ts::task_kind::copy || !sound.tiles[ts::to_size(t.reads[0])].on_host) {
            continue;
        }
        // Whatever reads what came back reads it in the host's memory.
        ts::plan p = sound;
        for (ts::task& reader : p.tasks) {
            if (reader.kind() == ts::task_kind::compute) {
                ts::replace_tile(reader, t.writes[0], t.reads[0]);
            }
        }
        const std::string text = ts::verify(g, p).text;
        CAPTURE(text);
        CHECK(text.find("which only a copy of its device brings in or out") != std::string::npos);
        // It comes back before it is there: nothing has written it.
        p = sound;
        p.tiles[ts::to_size(t.reads[0])].kind = ts::tile_kind::gradient;
        CHECK(ts::verify(g, p).text.find("is no activation of its own") != std::string::npos);
        // Another one comes back in its place.
        for (std::size_t k = i + 1; k < sound.tasks.size(); ++k) {
            const ts::task& other = sound.tasks[k];
            if (other.kind() == ts::task_kind::copy && sound.tiles[ts::to_size(other.reads[0])].on_host) {
                p = sound;
                p.tasks[i].reads[0] = other.reads[0];
                p.tasks[i].mutable_copy().segments[0].source = other.reads[0];
                CHECK(!ts::verify(g, p).text.empty());
                break;
            }
        }
        ++refused;
    }
    CHECK(refused == 2 * blocks);
}
