// SPDX-License-Identifier: Apache-2.0
// Shards of a configuration cover the iteration space; layouts of operands say what their shards hold.
#include "tessera/strategy/configuration.hpp"
#include "tessera/strategy/operand_layout.hpp"

#include "support/networks.hpp"
#include "support/random_strategy.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace {

namespace ts = tessera;

} // namespace

TEST_CASE("shards cover every point of the iteration space once for every part and replica") {
    test_support::coverage seen;
    int uneven = 0;
    const std::vector<ts::graph> networks{ts::describe<test_networks::residual_net::network>(5),
                                          ts::describe<test_networks::unet::network>(3)};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const ts::graph& net = networks[seed % 2];
        const ts::graph_view g = net.view();
        const ts::strategy s = test_support::random_strategy(g, 1 + static_cast<int>(seed % 8), seed, seen);
        for (int op = 0; op < g.op_count; ++op) {
            const ts::configuration& c = s.ops[ts::to_size(op)];
            const ts::description d = g.describe(op);
            ts::index_t total = 0;
            ts::index_t space = 1;
            std::set<std::vector<int>> keys;
            for (int l = 0; l < d.loops.size(); ++l) {
                space *= d.loops[l].extent;
                ts::index_t end = 0; // ranges follow each other without gaps
                for (int i = 0; i < c.degree[l]; ++i) {
                    const ts::interval r = ts::range_of(c, s.pool.data(), d, l, i);
                    CHECK(r.begin == end);
                    CHECK(r.size() > 0);
                    uneven += r.size() * c.degree[l] != d.loops[l].extent ? 1 : 0;
                    end = r.end;
                }
                CHECK(end == d.loops[l].extent);
            }
            for (int i = 0; i < c.shards(); ++i) {
                const ts::shard x = ts::shard_at(c, s.pool.data(), d, i);
                ts::index_t points = 1;
                std::vector<int> key{x.summand, x.replica};
                for (int l = 0; l < d.loops.size(); ++l) {
                    points *= x.ranges[l].size();
                    key.push_back(x.index[l]);
                    CHECK(x.ranges[l] == ts::range_of(c, s.pool.data(), d, l, x.index[l]));
                }
                CHECK(x.device == s.pool[ts::to_size(c.devices + i)]);
                keys.insert(key);
                total += points;
            }
            CHECK(total == space * c.partial * c.replicate);
            CHECK(static_cast<int>(keys.size()) == c.shards());
        }
    }
    CHECK(uneven > 100);
}

TEST_CASE("a short batch leaves shards behind its end empty") {
    struct fc : ts::linear<4> {};
    using network = ts::sequential<ts::features<3>, fc, ts::cross_entropy>;
    const ts::graph g = ts::describe<network>(3);
    ts::configuration c;
    c.degree[0] = 4;
    const ts::index_t pool[] = {2, 5, 7};
    c.cuts[0] = 0;
    const ts::description d = g.view().describe(0);
    CHECK(ts::range_of(c, pool, d, 0, 0) == ts::interval{0, 2});
    CHECK(ts::range_of(c, pool, d, 0, 1) == ts::interval{2, 3});
    CHECK(ts::range_of(c, pool, d, 0, 2).empty());
    CHECK(ts::range_of(c, pool, d, 0, 3).empty());
}

TEST_CASE("the layout of an operand counts what its shards hold") {
    test_support::coverage seen;
    int partial = 0;
    int replicated = 0;
    const std::vector<ts::graph> networks{ts::describe<test_networks::residual_net::network>(4),
                                          ts::describe<test_networks::inception::network>(4),
                                          ts::describe<test_networks::mlp::network>(8)};
    for (std::uint64_t seed = 0; seed < 90; ++seed) {
        const ts::graph_view g = networks[seed % 3].view();
        const ts::strategy s = test_support::random_strategy(g, 1 + static_cast<int>(seed % 8), seed, seen);
        for (int op = 0; op < g.op_count; ++op) {
            const ts::configuration& c = s.ops[ts::to_size(op)];
            const ts::description d = g.describe(op);
            for (int o = 0; o < d.operands.size(); ++o) {
                if (d.operands[o].kind == ts::operand_kind::intermediate) {
                    continue;
                }
                const ts::tensor_layout l = ts::layout_of_operand(d, o, c, s.pool.data(), ts::operand_tensor::value);
                REQUIRE(!l.devices.empty());
                for (int k = 0; k < l.extents.rank; ++k) {
                    // Distinct ranges along a dimension; halos overlap, and a shard of a concatenation may need none of
                    // an input.
                    std::set<std::pair<ts::index_t, ts::index_t>> ranges;
                    for (int i = 0; i < c.shards(); ++i) {
                        const ts::interval r = ts::region(d, o, ts::shard_at(c, s.pool.data(), d, i).ranges).dim[k];
                        ranges.insert({r.begin, r.end});
                    }
                    CHECK(static_cast<int>(ranges.size()) <= l.shards[k]);
                    if (d.operands[o].kind == ts::operand_kind::output) {
                        CHECK(static_cast<int>(ranges.size()) == l.shards[k]);
                    }
                }
                CHECK(l.count() == c.shards()); // what does not divide it reads it alike
                const bool written = d.operands[o].kind == ts::operand_kind::output;
                CHECK(l.partial == (written ? ts::parts_of_nest(c, d, d.nests.size() - 1) : c.partial));
                partial += l.partial > 1 ? 1 : 0;
                replicated += l.replicate > 1 ? 1 : 0;
            }
        }
    }
    CHECK(partial > 20);
    CHECK(replicated > 100);

    struct fc : ts::linear<12> {};
    using network = ts::sequential<ts::features<10>, fc, ts::cross_entropy>;
    const ts::graph g = ts::describe<network>(8);
    const ts::description d = g.view().describe(0);
    ts::configuration c;
    c.degree[d.find_loop(ts::loop_name::sample)] = 2;
    c.degree[d.find_loop(ts::loop_name::channel)] = 3;
    c.degree[d.find_loop(ts::loop_name::reduction)] = 5;
    c.replicate = 2;
    const auto is = [&](int which, ts::operand_tensor what, std::vector<int> shards, int summands, int copies) {
        const ts::tensor_layout l = ts::layout_of_operand(d, which, c, nullptr, what);
        CHECK(std::vector<int>(l.shards, l.shards + l.extents.rank) == shards);
        CHECK(l.partial == summands);
        CHECK(l.replicate == copies);
    };
    const int input = d.find_operand(ts::operand_kind::input);
    const int weights = d.find_operand(ts::operand_kind::parameter, 0);
    const int bias = d.find_operand(ts::operand_kind::parameter, 1);
    is(d.output(), ts::operand_tensor::value, {2, 3}, 5, 2);
    is(input, ts::operand_tensor::value, {2, 5}, 1, 6);
    is(weights, ts::operand_tensor::value, {3, 5}, 1, 4);
    is(bias, ts::operand_tensor::value, {3}, 1, 20);
    // Of gradients: what was a summand is a copy, what was a copy a summand, but for replicas; a bias is added once.
    is(d.output(), ts::operand_tensor::gradient, {2, 3}, 1, 10);
    is(input, ts::operand_tensor::gradient, {2, 5}, 3, 2);
    is(weights, ts::operand_tensor::gradient, {3, 5}, 2, 2);
    is(bias, ts::operand_tensor::gradient, {3}, 2, 2);
}
