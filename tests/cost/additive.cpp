// SPDX-License-Identifier: Apache-2.0
#include "tessera/cost/additive.hpp"

#include "support/random_network.hpp"

#include "examples/networks.hpp"
#include "tessera/cost/edge_tables.hpp"
#include "tessera/op/attention.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/configurations.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

namespace ts = tessera;
using ts::index_t;

struct stem : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct inner : ts::conv2d<8, ts::window<3>, ts::padding<1>, ts::groups<2>> {};
struct strided : ts::conv2d<12, ts::window<3>, ts::stride<2>, ts::groups<4>> {};
struct grown : ts::transposed_conv2d<12, ts::window<3>, ts::stride<2>, ts::padding<1>> {};
struct left : ts::conv2d<4, ts::window<1>> {};
struct right : ts::conv2d<4, ts::window<3>, ts::padding<2>, ts::dilation<2>> {};
struct head : ts::linear<6> {};
/// Every kind of edge: halos, strides, groups, dilation, joins, flattening, and sums that may be split.
struct mixed : ts::sequential<ts::image<4, 13, 12>, stem, norm, ts::relu, ts::residual<inner, ts::relu>, strided, grown,
                              ts::branches<ts::concat, ts::branch<left>, ts::branch<right>>, ts::average_pool<2>,
                              ts::flatten, head, ts::cross_entropy> {};

constexpr ts::machine test_machine{8, 7, 300, 11, 13, 17, 0};

/// The same bytes by comparing all shards: a consumer's shard receives the region it needs of every part of the tensor,
/// and a producer's shard the gradient of what it wrote from every consumer's shard that read from it, except what a
/// shard on the same device has.
ts::cost::received by_comparing(const ts::description& producer, const ts::configuration& from,
                                const ts::description& consumer, int input, const ts::configuration& to,
                                const index_t* pool, int devices) {
    const int out = producer.output();
    const int last = producer.nests.size() - 1;
    ts::cost::received most;
    for (int device = 0; device < devices; ++device) {
        ts::cost::received here;
        for (int j = 0; j < to.shards(); ++j) {
            const ts::shard t = ts::shard_at(to, pool, consumer, j);
            if (t.device != device) {
                continue;
            }
            const ts::box needed = ts::region(consumer, input, t.ranges);
            for (int i = 0; i < from.shards(); i += from.replicate) {
                const ts::shard s = ts::shard_at(from, pool, producer, i);
                bool local = to.partial > 1 && ts::part_of_nest(s, from, producer, last) != t.summand;
                for (int r = 0; r < from.replicate; ++r) {
                    local = local || ts::shard_at(from, pool, producer, i + r).device == device;
                }
                here.forward += local ? 0 : 4 * intersect(ts::region(producer, out, s.ranges), needed).volume();
            }
        }
        for (int i = 0; i < from.shards(); ++i) {
            const ts::shard s = ts::shard_at(from, pool, producer, i);
            if (s.device != device) {
                continue;
            }
            const ts::box written = ts::region(producer, out, s.ranges);
            const int copies = to.replicate * to.partial; // which have the same gradient
            for (int j = 0; j < to.shards(); j += copies) {
                bool local = false;
                for (int r = 0; r < copies; ++r) {
                    local = local || ts::shard_at(to, pool, consumer, j + r).device == device;
                }
                const ts::shard t = ts::shard_at(to, pool, consumer, j);
                here.backward += local ? 0 : 4 * intersect(ts::region(consumer, input, t.ranges), written).volume();
            }
        }
        most.forward = std::max(most.forward, here.forward);
        most.backward = std::max(most.backward, here.backward);
    }
    return most;
}

/// Visits every edge of a network with its two operators' descriptions.
template <class Visit>
void for_each_edge(const ts::graph_view& g, Visit&& visit) {
    for (int op = 0; op < g.op_count; ++op) {
        for (int slot = 0; slot < g.ops[op].inputs.size(); ++slot) {
            const int producer = g.tensors[g.ops[op].inputs[slot]].producer;
            if (producer >= 0) {
                const ts::description d = g.describe(op);
                visit(producer, op, g.describe(producer), d, d.find_operand(ts::operand_kind::input, slot));
            }
        }
    }
}

ts::search::configuration_options everything() {
    ts::search::configuration_options options;
    options.powers_of = 0;
    options.uneven = true;
    return options;
}

/// Room for what edge_times() computes on the way.
std::vector<index_t> edge_scratch(const ts::cost::tiling<0, 0, 0>& from, const ts::cost::tiling<0, 0, 0>& to) {
    int n = 0;
    for (int k = 0; k < from.rank; ++k) {
        n += from.pieces[k].size() * (to.pieces[k].size() + to.grids[k].size());
    }
    int shards = 1;
    for (const ts::cost::tiled& t : to.each.items) {
        shards = std::max(shards, t.shards);
    }
    return std::vector<index_t>(ts::to_size(n + 2 * (shards + 1)));
}

} // namespace

TEST_CASE("additive: bytes over an edge are those that shards of other devices have, for any placement") {
    std::mt19937 random(1);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const ts::graph g = ts::describe<mixed>(6);
    for_each_edge(g.view(), [&](int, int, const ts::description& producer, const ts::description& consumer, int input) {
        const auto from = ts::search::enumerate(producer, 8, everything());
        const auto to = ts::search::enumerate(consumer, 8, everything());
        for (int trial = 0; trial < 60; ++trial) {
            ts::configuration a = from[ts::to_size(below(static_cast<int>(from.size())))];
            ts::configuration b = to[ts::to_size(below(static_cast<int>(to.size())))];
            std::vector<index_t> pool;
            for (ts::configuration* c : {&a, &b}) {
                c->replicate = 1 + below(2);
                if (below(3) != 0) { // several shards may share a device
                    c->devices = static_cast<int>(pool.size());
                    for (int i = 0; i < c->shards(); ++i) {
                        pool.push_back(below(8));
                    }
                } else {
                    c->replicate = 1;
                }
            }
            const auto found = ts::cost::bytes_between(producer, a, consumer, input, b, pool.data(), true);
            const auto needed = by_comparing(producer, a, consumer, input, b, pool.data(), 8);
            REQUIRE(found.forward == needed.forward);
            REQUIRE(found.backward == needed.backward);
        }
    });
}

TEST_CASE("additive: a partial tensor that is passed on moves only between equal parts") {
    struct wide : ts::linear<8> {};
    struct net : ts::sequential<ts::features<8>, wide, ts::dropout<50>, head, ts::cross_entropy> {};
    const ts::graph g = ts::describe<net>(4);
    ts::strategy s(g.view());
    s.ops[0].degree[2] = 4; // the reduction
    s.ops[1].partial = 4;
    CHECK_FALSE(static_cast<bool>(ts::check_strategy(g.view(), s.view(), 4)));
    const auto bytes = [&](int producer, int consumer) {
        return ts::cost::bytes_between(g.view().describe(producer), s.ops[ts::to_size(producer)],
                                       g.view().describe(consumer), 0, s.ops[ts::to_size(consumer)], nullptr, true);
    };
    CHECK(bytes(0, 1).forward == 0);
    CHECK(bytes(0, 1).backward == 0);
    CHECK(bytes(1, 2).forward == 3 * 4 * 8 * 4); // three parts of 4 x 8 floats to the first device
    CHECK(bytes(1, 2).backward == 4 * 8 * 4);
}

TEST_CASE("additive: tables for all pairs equal the bytes of each pair") {
    for (const bool uneven : {false, true}) {
        const ts::graph g = ts::describe<mixed>(6);
        ts::search::configuration_options options = everything();
        options.uneven = uneven;
        for_each_edge(g.view(),
                      [&](int, int, const ts::description& producer, const ts::description& consumer, int input) {
                          const auto from = ts::search::enumerate(producer, 6, options);
                          const auto to = ts::search::enumerate(consumer, 6, options);
                          ts::cost::tiling<0, 0, 0> written;
                          ts::cost::tiling<0, 0, 0> needed;
                          for (const auto& c : from) {
                              REQUIRE(written.add(producer, producer.output(), c));
                          }
                          for (const auto& c : to) {
                              REQUIRE(needed.add(consumer, input, c));
                          }
                          std::vector<index_t> scratch = edge_scratch(written, needed);
                          std::vector<index_t> times(from.size() * to.size());
                          ts::cost::edge_times(written, needed, 4, true, test_machine, scratch.data(), times.data());
                          REQUIRE(ts::cost::edge_table(written, needed, 4, true, test_machine) == times);
                          std::vector<index_t> forward(times.size());
                          ts::cost::edge_times(written, needed, 2, false, test_machine, scratch.data(), forward.data());
                          REQUIRE(ts::cost::edge_table(written, needed, 2, false, test_machine) == forward);
                          for (std::size_t i = 0; i < from.size(); i += 1 + i % 3) {
                              for (std::size_t j = 0; j < to.size(); j += 1 + j % 2) {
                                  const auto bytes =
                                      ts::cost::bytes_between(producer, from[i], consumer, input, to[j], nullptr, true);
                                  REQUIRE(times[i * to.size() + j] == bytes.time(test_machine));
                              }
                          }
                      });
    }
}

TEST_CASE("additive: tables of random networks on more devices than a word has bits are those of all shards") {
    int compared = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        const ts::graph g = test_support::random_network(seed);
        const int devices = seed % 3 == 0 ? 96 : seed % 3 == 1 ? 64 : 12;
        const ts::search::configuration_options options{.powers_of = seed % 2 == 0 ? 2 : 0, .uneven = seed % 4 > 1};
        for_each_edge(g.view(),
                      [&](int, int, const ts::description& producer, const ts::description& consumer, int input) {
                          ts::cost::tiling<0, 0, 0> written;
                          ts::cost::tiling<0, 0, 0> needed;
                          for (const auto& c : ts::search::enumerate(producer, devices, options)) {
                              REQUIRE(written.add(producer, producer.output(), c));
                          }
                          for (const auto& c : ts::search::enumerate(consumer, devices, options)) {
                              REQUIRE(needed.add(consumer, input, c));
                          }
                          const std::size_t cells = written.each.items.size() * needed.each.items.size();
                          if (cells > 200'000) {
                              return;
                          }
                          std::vector<index_t> scratch = edge_scratch(written, needed);
                          std::vector<index_t> times(cells);
                          ts::cost::edge_times(written, needed, 4, true, test_machine, scratch.data(), times.data());
                          REQUIRE(ts::cost::edge_table(written, needed, 4, true, test_machine) == times);
                          ++compared;
                      });
    }
    CHECK(compared > 60);
}

TEST_CASE("additive: compute time is that of the slowest shard where degrees divide, and no less elsewhere") {
    const ts::graph g = ts::describe<mixed>(6);
    for (int op = 0; op < g.view().op_count; ++op) {
        const ts::cost::op_model m = ts::cost::model_of(g.view(), op);
        const ts::description& d = m.d;
        for (const ts::configuration& c : ts::search::enumerate(d, 8, everything())) {
            index_t slowest = 0;
            for (int i = 0; i < c.shards(); ++i) {
                const ts::shard s = ts::shard_at(c, nullptr, d, i);
                index_t flops = 0;
                index_t bytes = 0;
                bool inputs = false;
                bool parameters = false;
                for (int o = 0; o < d.operands.size(); ++o) {
                    const int k = ts::gradient_nest(d, o);
                    if (k < 0 || ts::has(m.data, o)) {
                        continue;
                    }
                    (d.operands[o].kind == ts::operand_kind::input ? inputs : parameters) = true;
                    const auto size = [&](int which) {
                        return ts::region(d, which, s.ranges).volume() * ts::bytes_of(d.operands[which].type);
                    };
                    bytes += size(o);
                    if (d.operands[o].additive) {
                        continue;
                    }
                    bytes += size(d.nests[k].write);
                    for (int r = 0; r < d.operands.size(); ++r) {
                        bytes += ts::has(d.operands[o].gradient_reads, r) ? size(r) : 0;
                    }
                    index_t points = d.nests[k].flops;
                    for (int l = 0; l < d.loops.size(); ++l) {
                        points *= ts::has(d.nests[k].loops, l) ? s.ranges[l].size() : 1;
                    }
                    flops += points;
                }
                const auto pass = [](index_t arithmetic, index_t moved) {
                    return std::max(arithmetic / test_machine.gigaflops, moved * 1000 / test_machine.memory_megabytes);
                };
                const index_t time = (1 + inputs + parameters) * test_machine.launch +
                                     pass(ts::forward_flops(d, s.ranges), ts::forward_bytes(d, s.ranges)) +
                                     pass(flops, bytes);
                slowest = std::max(slowest, time);
            }
            const index_t found = ts::cost::compute_time(m, c, nullptr, test_machine);
            if (m.view) {
                CHECK(found == 0);
            } else if (m.copy) {
                index_t written = 0;
                for (int i = 0; i < c.shards(); ++i) {
                    const ts::shard s = ts::shard_at(c, nullptr, d, i);
                    written = std::max(written, 4 * ts::region(d, d.output(), s.ranges).volume());
                }
                CHECK(found == 2 * (test_machine.launch + test_machine.memory_time(2 * written)));
            } else if (c.uneven) {
                CHECK(found >= slowest);
            } else {
                CHECK(found == slowest);
            }
        }
    }
}

TEST_CASE("additive: of causal attention the shard that sees most is the slowest") {
    const ts::shape x[] = {ts::make_shape(4, 6, 8), ts::make_shape(4, 6, 8), ts::make_shape(4, 6, 8)};
    const ts::op_attributes a = ts::attention<ts::heads<2>, ts::causal>::attributes;
    ts::cost::op_model m;
    m.d = ts::describe(a, x, 3);
    ts::machine on = test_machine;
    on.gigaflops = 1; // so that arithmetic takes the time, not memory
    on.memory_megabytes = 1'000'000;
    int checked = 0;
    for (const ts::configuration& c : ts::search::enumerate(m.d, 6, everything())) {
        index_t slowest = 0;
        for (int i = 0; i < c.shards(); ++i) {
            slowest = std::max(slowest, ts::cost::shard_time(m, ts::shard_at(c, nullptr, m.d, i), on));
        }
        const index_t found = ts::cost::compute_time(m, c, nullptr, on);
        CHECK((c.uneven ? found >= slowest : found == slowest));
        ++checked;
    }
    CHECK(checked > 20);
}

TEST_CASE("additive: synchronization follows from who holds what") {
    const auto ring = [](index_t bytes, int m) {
        return 2 * (m - 1) * (test_machine.link_latency + bytes * 1000 / (m * test_machine.link_megabytes));
    };
    const ts::graph g = ts::describe<networks::mlp>(8);
    const auto time = [&](int op, const ts::configuration& c) {
        return ts::cost::synchronization_time(ts::cost::model_of(g.view(), op), c, nullptr, test_machine);
    };
    const index_t weight = 4096 * 784 * 4;
    const index_t bias = 4096 * 4;
    ts::configuration c;
    CHECK(time(0, c) == 0);
    c.replicate = 4;
    CHECK(time(0, c) == 0); // copies have the same gradient
    c.degree[0] = 2;
    CHECK(time(0, c) == ring(weight, 8) + ring(bias, 8));
    c.replicate = 1;
    CHECK(time(0, c) == ring(weight, 2) + ring(bias, 2));
    c.degree[1] = 4;
    CHECK(time(0, c) == ring(weight / 4, 2) + ring(bias / 4, 2));
    c.degree[0] = 1;
    CHECK(time(0, c) == 0);
    c.degree[1] = 1;
    c.degree[2] = 4; // every shard has a part of the weight; the bias is added once
    CHECK(time(0, c) == 0);
    c.degree[2] = 1;
    c.degree[1] = 2; // the classes: maximum, sum of exponentials and loss are reduced
    CHECK(time(5, c) == 3 * ring(8 * 4, 2));

    const ts::graph n = ts::describe<mixed>(6);
    ts::configuration samples;
    samples.degree[0] = 2;
    samples.reduces = true; // gamma and beta, and the statistics forward and backward
    CHECK(ts::cost::synchronization_time(ts::cost::model_of(n.view(), 1), samples, nullptr, test_machine) ==
          2 * ring(8 * 4, 2) + 2 * ring(2 * 8 * 8, 2));
}

TEST_CASE("additive: the cost of a strategy is refused when it is not legal") {
    const ts::graph g = ts::describe<networks::lenet5>(8);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 3;
    CHECK_THROWS_AS(ts::cost::total_cost(g.view(), s, test_machine), ts::error);
}

TEST_CASE("additive: the compiler computes what the program computes") {
    using both = ts::search::static_baseline<networks::lenet5, 64, 2, ts::search::baseline::one_weird_trick>;
    constexpr ts::machine on = ts::machines::p100<2>{};
    constexpr index_t by_compiler = ts::cost::total_cost(ts::describe<networks::lenet5, 64>(), both::view(), on);
    const ts::graph g = ts::describe<networks::lenet5>(64);
    CHECK(by_compiler == ts::cost::total_cost(g.view(), ts::search::one_weird_trick(g.view(), 2), on));
}
