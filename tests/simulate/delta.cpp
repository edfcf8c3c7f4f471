// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/delta.hpp"

#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/baselines.hpp"
#include "tests/support/random_strategy.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

struct stem : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct inner : ts::conv2d<8, ts::window<3>, ts::padding<1>, ts::groups<2>> {};
struct left : ts::conv2d<4, ts::window<1>> {};
struct right : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct wide : ts::linear<12> {};
struct again : ts::linear<12> {};
struct head : ts::linear<6> {};

/// Joins, views, statistics, partial sums that are passed on, and a parameter that three operators share.
struct mixed : ts::sequential<ts::image<4, 8, 8>, stem, norm, ts::relu, ts::residual<inner, ts::relu>,
                              ts::residual<ts::residual<ts::relu>>,
                              ts::branches<ts::concat, ts::branch<left>, ts::branch<right>>, ts::average_pool<2>,
                              ts::flatten, wide, again, ts::relu, ts::shared<again>, ts::relu,
                              ts::residual<ts::shared<again>, ts::dropout<50>>, head, ts::cross_entropy> {};

index_t full(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on, std::vector<sim::task_span>& spans,
             const ts::lower_options& o) {
    const ts::plan p = ts::lower(g, s.view(), on.devices(), o);
    const sim::timeline t = sim::simulate(g, p, on);
    spans = t.tasks;
    return t.makespan;
}

/// Random proposals, some accepted; every one compared with a full simulation of a full lowering.
void check_against_full(const ts::graph& network, const ts::cluster& on, int proposals, std::uint64_t seed,
                        int compare_every = 1) {
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    test_support::random pick{seed};
    ts::strategy s = test_support::random_strategy(g, on.devices(), seed, seen);
    ts::lower_options o;
    o.update.momentum = 0.9F;
    sim::delta_simulation delta(on, g, s, {}, o);
    std::vector<sim::task_span> expected;
    REQUIRE(delta.makespan() == full(g, s, on, expected, o));
    REQUIRE(delta.spans() == expected);
    int compared = 0;
    for (int i = 0; i < proposals; ++i) {
        const int op = pick(g.op_count);
        ts::strategy next = delta.current();
        next.ops[static_cast<std::size_t>(op)] = {};
        test_support::random_configuration(g, next, op, on.devices(), 1 + pick(3), pick, seen);
        ts::configuration& c = next.ops[static_cast<std::size_t>(op)];
        for (int& cut : c.cuts) {
            cut = -1;
        }
        if (ts::check_strategy(g, next.view(), on.devices())) {
            continue;
        }
        std::vector<int> devices;
        for (int k = 0; k < c.shards(); ++k) {
            devices.push_back(static_cast<int>(next.pool[static_cast<std::size_t>(c.devices + k)]));
        }
        const ts::strategy before = delta.current();
        const index_t old = delta.makespan();
        const index_t found = delta.propose(op, c, devices);
        if (i % compare_every == 0) {
            ++compared;
            REQUIRE(found == full(g, next, on, expected, o));
            REQUIRE(delta.spans() == expected);
        }
        if (pick(2) == 0) {
            delta.accept();
            CHECK(delta.makespan() == found);
            CHECK(delta.lowered().moved_bytes() == ts::lower(g, next.view(), on.devices(), o).moved_bytes);
        } else {
            delta.reject();
            CHECK(delta.makespan() == old);
            CHECK(delta.current().ops == before.ops);
        }
    }
    REQUIRE(delta.makespan() == full(g, delta.current(), on, expected, o));
    REQUIRE(delta.spans() == expected);
    CHECK(compared > proposals / 3 / compare_every);
}

} // namespace

TEST_CASE("delta: bit-identical to full, a network with joins, views, statistics and shared parameters") {
    const ts::graph g = ts::describe<mixed>(6);
    check_against_full(g, ts::cluster(ts::machines::p100_nodes(2, 2)), 400, 1);
    check_against_full(g, ts::cluster(ts::machines::p100_nodes(2)), 300, 2);
    check_against_full(g, ts::cluster(ts::machines::this_host(3)), 300, 3);
    check_against_full(g, ts::cluster(ts::machines::heterogeneous()), 300, 4);
}

TEST_CASE("delta: bit-identical to full, LeNet-5 and an MLP") {
    check_against_full(ts::describe<networks::lenet5>(16), ts::cluster(ts::machines::k80_nodes(2)), 400, 5);
    check_against_full(ts::describe<networks::mlp>(16), ts::cluster(ts::machines::p100_nodes(1)), 400, 6);
}

TEST_CASE("delta: what makes operators depend on others far away is refused") {
    const ts::graph g = ts::describe<networks::mlp>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    ts::lower_options o;
    o.update.clip_norm = 1.0F;
    CHECK_THROWS_AS(sim::delta_simulation(on, g.view(), ts::search::data_parallel(g.view(), 4), {}, o), ts::error);
}
