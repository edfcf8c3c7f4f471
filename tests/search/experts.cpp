// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/experts.hpp"

#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/lower.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

} // namespace

TEST_CASE("experts: legal for every network, machine and batch") {
    for (const auto& machine : {ts::machines::p100_nodes(4), ts::machines::k80_nodes(2), ts::machines::heterogeneous(),
                                ts::machines::this_host(3)}) {
        const ts::cluster on(machine);
        for (const int batch : {1, 3, 32}) {
            for (const ts::graph& g : {ts::describe<networks::lenet5>(batch), ts::describe<networks::mlp>(batch),
                                       ts::describe<networks::alexnet>(batch)}) {
                for (const auto& s : search::experts(g.view(), on)) {
                    CAPTURE(s.name);
                    CHECK_NOTHROW(ts::require(g.view(), s.value.view(), on.devices()));
                }
            }
        }
    }
    const ts::graph g = ts::describe<networks::lenet5>(32);
    CHECK(search::experts(g.view(), ts::cluster(ts::machines::p100_nodes(4)))[0].name == "data parallel");
}

TEST_CASE("experts: Megatron's pair of linear layers moves one partial sum forward and one gradient backward") {
    const ts::graph g = ts::describe<networks::mlp>(8); // 784-4096-4096-10
    const ts::strategy s = search::megatron(g.view(), 1, 4);
    CHECK(s.ops[0].degree[1] == 4); // by outputs
    CHECK(s.ops[1].degree[1] == 4); // the relu between
    CHECK(s.ops[2].degree[2] == 4); // by inputs
    CHECK(s.ops[3].shards() == 1);
    const ts::plan p = ts::lower(g.view(), s.view(), 4);
    for (const ts::task& t : p.tasks) { // nothing moves within the pair
        for (const ts::copy_segment& c : t.segments) {
            const ts::tile& source = p.tiles[static_cast<std::size_t>(c.source)];
            CHECK((t.op != 1 || source.device < 0 || source.device == t.device));
            CHECK((t.op != 2 || t.what != ts::pass::forward || source.device == t.device));
        }
    }
}

TEST_CASE("experts: operators placed one after the other share the arithmetic") {
    const ts::graph g = ts::describe<networks::vgg16>(16);
    const ts::strategy s = search::operator_placement(g.view(), 2, 4);
    std::int64_t share[4]{};
    std::int64_t total = 0;
    int last = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        const int part = s.ops[static_cast<std::size_t>(op)].start;
        CHECK(part >= last);
        last = part;
        const auto flops = search::detail::flops_of(g.view().describe(op));
        share[part] += flops;
        total += flops;
    }
    for (const std::int64_t part : share) {
        CHECK(part > total / 8);
        CHECK(part < total * 3 / 8);
    }
    for (const ts::task& t : ts::lower(g.view(), s.view(), 8).tasks) {
        CHECK((t.kind != ts::task_kind::compute || t.device % 4 == s.ops[static_cast<std::size_t>(t.op)].start));
    }
}
