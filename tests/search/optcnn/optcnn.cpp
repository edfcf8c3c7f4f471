// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/optcnn.hpp"

#include "examples/networks.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

namespace ts = tessera;

struct stem : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct left : ts::conv2d<4, ts::window<1>> {};
struct right : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct head : ts::linear<10> {};
struct branching
    : ts::sequential<ts::image<1, 8, 8>, stem, ts::branches<ts::add, ts::branch<left, norm>, ts::branch<right>>,
                     ts::relu, ts::flatten, head, ts::cross_entropy> {};

/// A machine on which splitting small networks pays off: slow devices, fast links.
ts::machine slow(int devices) { return {devices, 1, 500, 20000, 50, 10, 0}; }

template <class Net>
void check_exact(ts::index_t batch, const ts::machine& on) {
    const ts::graph g = ts::describe<Net>(batch);
    const auto problem = ts::search::make_optcnn_problem(g.view(), on);
    const auto found = ts::search::optcnn_search(g.view(), on);
    const auto exhaustive = ts::search::exhaustive(problem.costs);
    MESSAGE(g.view().op_count << " operators, " << on.devices
                              << " devices: " << ts::search::space_size_text(problem.costs)
                              << " strategies, of which a depth-first search visited " << exhaustive.visited
                              << " prefixes");
    REQUIRE(exhaustive.state == ts::search::status::solved);
    CHECK(found.cost == exhaustive.cost);
    CHECK(found.cost == ts::cost::total_cost(g.view(), found.best, on)); // which also checks that it is legal
    CHECK(found.cost == ts::cost::total_cost(g.view(), problem.strategy_of(exhaustive.choice), on));
}

template <class Net>
void check_never_worse(ts::index_t batch, const ts::machine& on) {
    const ts::graph g = ts::describe<Net>(batch);
    const auto found = ts::search::optcnn_search(g.view(), on);
    CHECK(found.statistics.remaining == 1);
    CHECK(found.cost == ts::cost::total_cost(g.view(), found.best, on));
    CHECK(found.cost <= ts::cost::total_cost(g.view(), ts::search::single_device(g.view()), on));
    CHECK(found.cost <= ts::cost::total_cost(g.view(), ts::search::data_parallel(g.view(), on.devices), on));
    CHECK(found.cost <= ts::cost::total_cost(g.view(), ts::search::model_parallel(g.view(), on.devices), on));
    CHECK(found.cost <= ts::cost::total_cost(g.view(), ts::search::one_weird_trick(g.view(), on.devices), on));
}

} // namespace

TEST_CASE("optcnn: equals exhaustive search") {
    check_exact<networks::lenet5>(64, ts::machines::p100<4>{});
    check_exact<networks::lenet5>(64, slow(2));
    check_exact<networks::small_convnet>(64, slow(2));
    check_exact<branching>(4, slow(2));
}

TEST_CASE("optcnn: splits where that pays") {
    const ts::graph g = ts::describe<networks::lenet5>(64);
    const ts::machine on = slow(4);
    const ts::index_t alone = ts::cost::total_cost(g.view(), ts::search::single_device(g.view()), on);
    const auto found = ts::search::optcnn_search(g.view(), on);
    CHECK(found.cost * 2 < alone);
    CHECK(found.best.ops[0].shards() == 4);
}

TEST_CASE("optcnn: never worse than data parallel, model parallel, one weird trick or one device") {
    for (const int devices : {2, 4, 8, 16}) {
        check_never_worse<networks::alexnet>(32 * devices, ts::machines::p100_cluster(devices));
        check_never_worse<networks::vgg16>(32 * devices, ts::machines::p100_cluster(devices));
    }
    for (const int devices :
         {3, 5, 6}) { // where the baselines have uneven shards, and degrees that are no powers of two
        check_never_worse<networks::alexnet>(50, ts::machines::p100_cluster(devices));
        check_never_worse<networks::lenet5>(7, slow(devices));
    }
}

TEST_CASE("optcnn: the tables add up to the cost of any strategy") {
    std::mt19937 random(2);
    for (const int devices : {3, 4}) {
        const ts::graph g = ts::describe<branching>(6);
        const ts::machine on = slow(devices);
        const auto problem = ts::search::make_optcnn_problem(g.view(), on);
        for (int trial = 0; trial < 200; ++trial) {
            std::vector<ts::search::choice_t> choice;
            for (const auto& list : problem.configurations) {
                choice.push_back(static_cast<ts::search::choice_t>(random() % list.size()));
            }
            REQUIRE(problem.costs.cost(choice) == ts::cost::total_cost(g.view(), problem.strategy_of(choice), on));
        }
    }
}

TEST_CASE("optcnn: the paper's two eliminations leave two nodes") {
    const ts::graph g = ts::describe<networks::vgg16>(64);
    ts::search::optcnn_options paper;
    paper.elimination.leaf_rule = false;
    const auto on = ts::machines::p100_cluster(2);
    const auto found = ts::search::optcnn_search(g.view(), on, paper);
    CHECK(found.statistics.remaining == 2);
    CHECK(found.cost == ts::search::optcnn_search(g.view(), on).cost);
}

TEST_CASE("optcnn: bad input") {
    const ts::graph g = ts::describe<networks::lenet5>(8);
    CHECK_THROWS_WITH_AS(ts::search::optcnn(g.view(), ts::machines::host(0)), doctest::Contains("at least one device"),
                         ts::error);
    ts::search::optcnn_options hasty;
    hasty.elimination.budget = 10;
    const auto found = ts::search::optcnn_search(g.view(), ts::machines::host(4), hasty);
    CHECK(found.by == ts::search::optcnn_method::grouped);
    CHECK(!found.exact);
}
