// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/grid/estimate.hpp"

#include "support/small_gpt.hpp"
#include "tessera/machine/presets.hpp"
#include "tests/support/networks.hpp"

#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

bool same(const ts::graph& a, const ts::graph& b) {
    bool equal = a.ops.size() == b.ops.size() && a.tensors.size() == b.tensors.size() &&
                 a.parameters.size() == b.parameters.size();
    for (std::size_t i = 0; equal && i < a.ops.size(); ++i) {
        equal = a.ops[i].attributes == b.ops[i].attributes && a.ops[i].inputs == b.ops[i].inputs &&
                a.ops[i].parameters == b.ops[i].parameters && a.ops[i].output == b.ops[i].output;
    }
    for (std::size_t i = 0; equal && i < a.tensors.size(); ++i) {
        equal = a.tensors[i].extents == b.tensors[i].extents && a.tensors[i].producer == b.tensors[i].producer;
    }
    for (std::size_t i = 0; equal && i < a.parameters.size(); ++i) {
        equal = a.parameters[i].extents == b.parameters[i].extents;
    }
    return equal;
}

} // namespace

TEST_CASE("repeats: a network with fewer blocks is the network that was described with fewer") {
    const ts::graph six = ts::describe<test_networks::small_gpt<6>>(8);
    const ts::repeated_blocks r = ts::find_repeats(six.view());
    CHECK(r.count == 6);
    CHECK(r.length == 14);
    CHECK(r.first == 3);
    CHECK(r.block_of(0) == -1);
    CHECK(r.block_of(r.end()) == 6);
    CHECK(same(ts::with_blocks(six.view(), r, 4, 12).network, ts::describe<test_networks::small_gpt<4>>(12)));
    CHECK(same(ts::with_blocks(six.view(), r, 6, 8).network, six));
    CHECK_THROWS_AS(ts::with_blocks(six.view(), r, 7, 8), ts::error);
    // Residual blocks of convolutions, and a network that repeats nothing.
    CHECK(ts::find_repeats(ts::describe<test_networks::residual_net::network>(4).view()).count >= 2);
    CHECK(ts::find_repeats(ts::describe<test_networks::translator::network>(4).view()).length >= 1);
}

TEST_CASE("grid: the strategy divides every stage's devices as the grid says, and keeps the rules") {
    const ts::graph g = ts::describe<test_networks::small_gpt<4>>(16);
    const search::device_grid x = search::megatron_grid(g.view(), 2, 4, 2, 4, false);
    const ts::strategy s = search::strategy_of(g.view(), x);
    ts::require(g.view(), s.view(), 16);
    CHECK(s.micro_batches == 4);
    for (int op = 0; op < g.view().op_count; ++op) {
        const ts::configuration& c = s.ops[ts::to_size(op)];
        CHECK(c.shards() == 8);
        CHECK(c.start == 8 * c.stage);
        for (int i = 0; i < 8; ++i) { // replica i / 4 has its share of the samples
            const ts::shard part = ts::shard_at(c, s.pool.data(), g.view().describe(op), i);
            CHECK(part.ranges[0] == ts::interval{i / 4 * 8, i / 4 * 8 + 8});
        }
    }
    search::device_grid wrong = x;
    wrong.tensor = 2;
    CHECK_THROWS_AS(search::strategy_of(g.view(), wrong), ts::error);
    wrong = x;
    wrong.stage.pop_back();
    const ts::index_t ops = g.view().op_count;
    CHECK(test_support::message_of([&] { (void)search::strategy_of(g.view(), wrong); }) ==
          test_support::text_of_rule(ts::rule::stages_for_other_operators, ops - 1, ops));
    wrong.within.pop_back();
    CHECK(test_support::message_of([&] { (void)search::strategy_of(g.view(), wrong); }) ==
          test_support::text_of_rule(ts::rule::strategy_has_wrong_size, ops - 1, ops));
}

TEST_CASE("grid: estimates beside simulations of the whole plans") {
    struct {
        int data, tensor, stages, micro_batches;
        bool recompute;
        double off; ///< per cent that the time may be off
    } const cases[] = {{1, 1, 1, 1, false, 9}, {1, 2, 2, 4, false, 2}, {1, 2, 2, 4, true, 4}, {1, 4, 4, 8, false, 2},
                       {2, 2, 2, 4, false, 6}, {4, 4, 1, 2, false, 8}, {2, 4, 4, 4, true, 8}, {1, 8, 2, 2, false, 6}};
    ts::device_graph machine = ts::machines::h200_nodes(4);
    machine.classes[0].rates.collective_engine = 0; // what collectives take from computation is not estimated
    const ts::cluster on(machine);
    for (const auto& c : cases) {
        CAPTURE(c.data);
        CAPTURE(c.tensor);
        CAPTURE(c.stages);
        CAPTURE(c.recompute);
        const ts::graph g = ts::describe<test_networks::small_gpt<6>>(index_t{c.data} * c.micro_batches * 2);
        search::grid_estimator estimate(g.view(), on, {}, test_support::with_adam());
        const search::device_grid x =
            search::megatron_grid(g.view(), c.data, c.tensor, c.stages, c.micro_batches, c.recompute);
        const search::grid_cost cost = estimate(x);
        ts::plan p =
            ts::lower(g.view(), search::strategy_of(g.view(), x).view(), x.devices(), test_support::with_adam());
        ts::plan_memory(p);
        const index_t whole = ts::simulation::simulate(g.view(), p, on).makespan;
        CHECK(std::abs(static_cast<double>(cost.makespan) / static_cast<double>(whole) - 1) * 100 < c.off);
        CHECK(estimate.least(x) <= whole);
        CHECK(cost.bubble >= 0);
        for (int s = 0; s < x.stages; ++s) { // stage by stage: hardly less than the plan needs, and little more
            index_t most = 0;
            for (int d = s * x.data * x.tensor; d < (s + 1) * x.data * x.tensor; ++d) {
                const auto i = ts::to_size(d);
                most = std::max(most, p.arena_bytes[i] + p.persistent_bytes[i]);
            }
            const double ratio = static_cast<double>(cost.stage_bytes[ts::to_size(s)]) / static_cast<double>(most);
            CHECK(ratio > 0.98);
            CHECK(ratio < 1.15);
        }
    }
}

TEST_CASE("grid: one stage on one device: idle time is not negative, and updates take what passes through memory") {
    ts::device_graph machine = ts::machines::h200_nodes(1);
    machine.classes[0].rates = {}; // by which few bytes take longer
    const ts::cluster on(machine);
    const ts::graph g = ts::describe<test_networks::small_gpt<6>>(2);
    for (const bool recompute : {false, true}) {
        const auto behind = [&](const ts::lower_options& rule) { // the last stage backward, without the launch
            search::grid_estimator estimate(g.view(), on, {}, rule);
            const search::grid_cost cost = estimate(search::megatron_grid(g.view(), 1, 1, 1, 1, recompute));
            CHECK(cost.bubble >= 0);
            CHECK(cost.bubble < cost.without_updates / 20);
            return static_cast<double>(cost.makespan - cost.without_updates - on.class_of(0).launch);
        };
        // A gradient read and a parameter written; with Adam's two states each read and written: 2 and 6 times the
        // bytes.
        CHECK(std::abs(behind(test_support::with_adam()) / behind({}) - 3) < 0.001);
    }
}

TEST_CASE("grid: where replicas lie on different nodes their sums share the nodes' links") {
    const ts::cluster on(ts::machines::p100_nodes(4));
    for (const int micro_batches : {1, 2}) {
        const ts::graph g = ts::describe<test_networks::small_gpt<6>>(index_t{8} * micro_batches);
        search::grid_estimator estimate(g.view(), on, {}, test_support::with_adam());
        const search::device_grid x = search::megatron_grid(g.view(), 4, 4, 1, micro_batches, false);
        const search::grid_cost cost = estimate(x);
        const ts::plan p =
            ts::lower(g.view(), search::strategy_of(g.view(), x).view(), x.devices(), test_support::with_adam());
        const index_t whole = ts::simulation::simulate(g.view(), p, on).makespan;
        CHECK(std::abs(static_cast<double>(cost.makespan) / static_cast<double>(whole) - 1) < 0.03);
        // Of one stage the bound lacks little more than what updates keep the device from.
        CHECK(estimate.least(x) <= cost.without_updates);
        CHECK(static_cast<double>(estimate.least(x)) > 0.85 * static_cast<double>(cost.without_updates));
    }
}
