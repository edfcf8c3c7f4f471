// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/by_hand/hand_designed.hpp"

#include "examples/networks.hpp"
#include "support/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/finished_step.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

} // namespace

TEST_CASE("hand-designed strategies: legal for every network, machine and batch") {
    for (const auto& machine : {ts::machines::p100_nodes(4), ts::machines::k80_nodes(2), ts::machines::heterogeneous(),
                                ts::machines::this_host(3)}) {
        const ts::cluster on(machine);
        for (const int batch : {1, 3, 32}) {
            for (const ts::graph& g : {ts::describe<networks::lenet5>(batch), ts::describe<networks::mlp>(batch),
                                       ts::describe<networks::alexnet>(batch)}) {
                for (const auto& s : search::hand_designed(g.view(), on)) {
                    CAPTURE(s.name);
                    CHECK_NOTHROW(ts::require(g.view(), s.value.view(), on.devices()));
                }
            }
        }
    }
    const ts::graph g = ts::describe<networks::lenet5>(32);
    CHECK(search::hand_designed(g.view(), ts::cluster(ts::machines::p100_nodes(4)))[0].name == "data parallel");
}

TEST_CASE(
    "experts: loops that an operator has not, or that no shard may cut, stay whole; what one splits is as asked for") {
    const ts::graph g = ts::describe<networks::lenet5>(6);
    int kept_whole = 0;
    int split = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        const ts::description d = g.view().describe(op);
        for (int name = 0; name <= static_cast<int>(ts::loop_name::tap_width); ++name) {
            for (const int degree : {1, 2, 4, 1000}) {
                const auto loop = static_cast<ts::loop_name>(name);
                const ts::configuration c = search::detail::split_by(d, {{loop, degree}});
                const int l = d.find_loop(loop);
                if (l < 0 || degree < 2 || !ts::splittable(d, l)) {
                    CHECK(c == ts::configuration{});
                    kept_whole += l >= 0 && degree > 1 ? 1 : 0;
                    continue;
                }
                ++split;
                const ts::index_t extent = d.loops[l].extent;
                CHECK(c.degree[l] == std::min<ts::index_t>(extent, degree));
                CHECK(c.shards() == c.degree[l]);
                CHECK(c.uneven == (extent % c.degree[l] != 0));
                CHECK(c.reduces == (ts::role(d, l) == ts::loop_role::coupled));
            }
        }
    }
    CHECK(kept_whole > 0);
    CHECK(split > 20);
}

TEST_CASE("hand-designed strategies: Megatron's pair of linear layers moves one partial sum forward and one gradient "
          "backward") {
    const ts::graph g = ts::describe<networks::mlp>(8); // 784-4096-4096-10
    const ts::strategy s = search::megatron(g.view(), 1, 4);
    CHECK(s.ops[0].degree[1] == 4); // by outputs
    CHECK(s.ops[1].degree[1] == 4); // the relu between
    CHECK(s.ops[2].degree[2] == 4); // by inputs
    CHECK(s.ops[3].shards() == 1);
    const ts::plan p = ts::lower(g.view(), s.view(), 4);
    for (const ts::task& t : p.tasks) { // nothing moves within the pair
        for (const ts::copy_segment& c : t.copy().segments) {
            const ts::tile& source = p.tiles[ts::to_size(c.source)];
            CHECK((t.op != 1 || source.device < 0 || source.device == t.device));
            CHECK((t.op != 2 || t.what != ts::pass::forward || source.device == t.device));
        }
    }
}

TEST_CASE("hand-designed strategies: operators placed one after the other share the arithmetic") {
    const ts::graph g = ts::describe<networks::vgg16>(16);
    const ts::strategy s = search::operator_placement(g.view(), 2, 4);
    std::int64_t share[4]{};
    std::int64_t total = 0;
    int last = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        const int part = s.ops[ts::to_size(op)].start;
        CHECK(part >= last);
        last = part;
        const auto flops = ts::flops_of(g.view().describe(op));
        share[part] += flops;
        total += flops;
    }
    for (const std::int64_t part : share) {
        CHECK(part > total / 8);
        CHECK(part < total * 3 / 8);
    }
    for (const ts::task& t : ts::lower(g.view(), s.view(), 8).tasks) {
        CHECK((t.kind() != ts::task_kind::compute || t.device % 4 == s.ops[ts::to_size(t.op)].start));
    }
}

TEST_CASE("hand-designed strategies: what a parameter with many users ties together lies in one place") {
    const ts::graph network = ts::describe<test_networks::recurrent::network>(8);
    const ts::graph_view g = network.view();
    int tied = 0;
    for (const int parts : {2, 3}) {
        const ts::strategy s = search::operator_placement(g, 1, parts);
        for (int p = 0; p < g.parameter_count; ++p) {
            std::vector<int> places;
            for (int op = 0; op < g.op_count; ++op) {
                for (const int used : g.ops[op].parameters) {
                    if (used == p) {
                        places.push_back(s.ops[ts::to_size(op)].start);
                    }
                }
            }
            const bool together =
                std::adjacent_find(places.begin(), places.end(), std::not_equal_to<>()) == places.end();
            CHECK((places.size() <= 2 || together));
            tied += places.size() > 2 ? 1 : 0;
        }
    }
    CHECK(tied > 0);
}

TEST_CASE("hand-designed strategies: nodes are as large as the machine says") {
    const ts::graph network = ts::describe<networks::mlp>(32);
    const ts::graph_view g = network.view();
    const auto found = [&](const ts::device_graph& machine, const std::string& name) {
        for (const auto& s : search::hand_designed(g, ts::cluster(machine))) {
            if (s.name == name) {
                return s.value;
            }
        }
        return ts::strategy{};
    };
    for (const auto& [nodes, each] : {std::pair{4, 4}, {2, 4}, {3, 2}}) {
        const ts::device_graph machine = ts::machines::p100_nodes(nodes, each);
        CHECK(found(machine, "mesh of nodes x devices").ops == search::mesh(g, nodes, each).ops);
        CHECK(found(machine, "Megatron within nodes").ops == search::megatron(g, nodes, each).ops);
        CHECK(found(machine, "operators placed within nodes").ops == search::operator_placement(g, nodes, each).ops);
    }
    CHECK(found(ts::machines::p100_nodes(4, 1), "mesh of nodes x devices").ops.empty());
}

TEST_CASE("a finished step fits where every device has room to the byte, and its waits count where some device copies "
          "in turn") {
    const ts::graph network = ts::describe<networks::lenet5>(8);
    const ts::graph_view g = network.view();
    const auto machine = [](ts::index_t first, ts::index_t second, bool in_turn = false) {
        ts::device_graph m;
        m.add_class({"first", {100, 100, 100}, 1000, first, 50, false});
        m.add_class({"second", {100, 100, 100}, 1000, second, 50, in_turn});
        m.add_device(0, "a");
        m.add_device(1, "b");
        m.add_link(0, 1, 500, 30);
        return ts::cluster(m);
    };
    const ts::strategy s = search::data_parallel(g, 2);
    const search::finished_step free = search::simulate_finished(g, machine(0, 0), s);
    REQUIRE(free.peak_bytes.size() == 2);
    CHECK(free.fits);
    for (const ts::index_t less : {0, 1}) {
        for (const int tight : {0, 1}) {
            const ts::index_t most = free.peak_bytes[ts::to_size(tight)] - less;
            const ts::cluster on = tight == 0 ? machine(most, 0) : machine(0, most);
            CHECK(search::simulate_finished(g, on, s).fits == (less == 0));
            CHECK(search::fits(g, on, s) == (less == 0));
        }
    }
    CHECK(!search::waits_count(machine(0, 0)));
    CHECK(search::waits_count(machine(0, 0, true)));
    CHECK(search::waits_count(ts::cluster(ts::machines::this_host(1))));
}

TEST_CASE("hand-designed strategies: a central copy stores everything on one device, and its step moves what the "
          "closed form says") {
    constexpr ts::index_t batch = 16;
    const ts::graph g = ts::describe<networks::mlp>(batch); // 784-4096-4096-10
    for (const int devices : {1, 2, 4, 8}) {
        const ts::strategy s = search::central_copy(g.view(), devices);
        ts::require(g.view(), s.view(), devices);
        const ts::plan p = ts::lower(g.view(), s.view(), devices);
        ts::index_t parameters = 0;
        for (const ts::tile& t : p.tiles) {
            CHECK((!ts::is_persistent(t.kind) || t.device == 0));
            parameters += t.kind == ts::tile_kind::parameter ? t.elements : 0;
        }
        CHECK(parameters == 784 * 4096 + 4096 + 4096 * 4096 + 4096 + 4096 * 10 + 10);
        // Parameters there and gradients back; samples there, scores back, their gradients there.
        const ts::index_t others = devices - 1;
        CHECK(p.moved_bytes == 4 * (2 * others * parameters + others * (batch / devices) * (784 + 2 * 10)));
    }
    // The first device's links are the bottleneck: all-reduces by everyone are faster, by more with more devices.
    double last = 1;
    for (const int nodes : {1, 4}) {
        const ts::cluster on(ts::machines::p100_nodes(nodes));
        const auto time = [&](const ts::strategy& s) {
            return static_cast<double>(
                ts::simulation::simulate(g.view(), ts::lower(g.view(), s.view(), on.devices()), on).makespan);
        };
        const double ratio =
            time(search::central_copy(g.view(), on.devices())) / time(search::data_parallel(g.view(), on.devices()));
        CHECK(ratio > last);
        last = ratio;
    }
    ts::strategy wrong = search::central_copy(g.view(), 4);
    wrong.parameters_on = 4;
    CHECK_THROWS_AS(ts::require(g.view(), wrong.view(), 4), ts::error);
}
