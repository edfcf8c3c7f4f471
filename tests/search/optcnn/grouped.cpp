// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/grouped.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/recurrent.hpp"
#include "tests/search/optcnn/random_problem.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

using small_rnn = networks::rnnlm_parts<4, 16, 50>::network;

} // namespace

TEST_CASE("groups: steps of an unrolled layer are of one kind, a cell is one block, a chain's layers are alone") {
    const ts::graph g = ts::describe<small_rnn>(8);
    const search::operator_groups groups = search::group_operators(g.view());
    int counted = 0;
    for (const std::vector<int>& kind : groups.kinds) {
        counted += static_cast<int>(kind.size());
        for (int op : kind) {
            const auto first = ts::to_size(kind[0]);
            ts::op_attributes own = g.ops[ts::to_size(op)].attributes;
            if (own.kind == ts::op_kind::slice) { // of the same extent, wherever it begins
                auto slice = own.as<ts::op::slice_attributes>();
                slice.begin = g.ops[first].attributes.as<ts::op::slice_attributes>().begin;
                own.set(slice);
            }
            CHECK(own == g.ops[first].attributes);
            CHECK(groups.block_of[ts::to_size(op)] == groups.block_of[first]);
        }
    }
    CHECK(counted == g.view().op_count);
    std::set<int> with_weights; // words, two cells of two products each, logits
    for (int op = 0; op < g.view().op_count; ++op) {
        if (!g.ops[ts::to_size(op)].parameters.empty()) {
            with_weights.insert(groups.block_of[ts::to_size(op)]);
        }
    }
    CHECK(with_weights.size() == 4);
    CHECK(groups.blocks.size() == 4);
    CHECK(groups.kinds.size() < 30);
    const auto& words = groups.blocks[0]; // a table and the slices of its result, one for each step
    REQUIRE(words.size() == 5);
    CHECK(groups.kind_of[ts::to_size(words[1])] == groups.kind_of[ts::to_size(words[4])]);
    const ts::graph chain = ts::describe<networks::lenet5>(8);
    const search::operator_groups alone = search::group_operators(chain.view());
    CHECK(alone.kinds.size() == chain.ops.size());
}

TEST_CASE("grouped problems: the cheapest choice is the cheapest of all that choose alike within groups") {
    int tried = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        const search::additive_problem p = tests::random_problem(seed, 50);
        std::vector<int> group_of; // nodes with equally many configurations, two and two
        std::vector<std::pair<int, int>> open;
        int groups = 0;
        for (int v = 0; v < p.nodes(); ++v) {
            int group = -1;
            for (auto& [count, number] : open) {
                if (count == p.configurations(v) && group < 0) {
                    group = number;
                    count = -1;
                }
            }
            if (group < 0) {
                group = groups++;
                open.push_back({p.configurations(v), group});
            }
            group_of.push_back(group);
        }
        const search::additive_problem small = search::grouped(p, group_of, groups);
        REQUIRE(small.nodes() == groups);
        const auto found = search::eliminate_variables(small);
        std::vector<search::choice_t> choice(ts::to_size(groups), 0);
        search::cost_t best = search::forbidden;
        while (true) {
            std::vector<search::choice_t> all;
            for (int group : group_of) {
                all.push_back(choice[ts::to_size(group)]);
            }
            REQUIRE(small.cost(choice) == p.cost(all));
            best = std::min(best, p.cost(all));
            int v = 0;
            while (v < groups && ++choice[ts::to_size(v)] == small.configurations(v)) {
                choice[ts::to_size(v++)] = 0;
            }
            if (v == groups) {
                break;
            }
        }
        CHECK(found.cost == best);
        const auto local = search::descend(small, std::vector<search::choice_t>(ts::to_size(groups), 0));
        CHECK(local.cost >= best);
        CHECK(local.cost == small.cost(local.choice));
        tried += groups < p.nodes() ? 1 : 0;
    }
    CHECK(tried > 100);
}

TEST_CASE("grouped OptCNN: a chain's equals OptCNN's; an unrolled network's steps have one configuration") {
    const ts::machine on = ts::machines::p100_cluster(4);
    const ts::graph chain = ts::describe<networks::lenet5>(64);
    const auto single = search::grouped_optcnn(chain.view(), on);
    CHECK(single.exact);
    CHECK(ts::cost::total_cost(chain.view(), single.best, on) == search::optcnn_search(chain.view(), on).cost);
    const ts::graph g = ts::describe<small_rnn>(8);
    const auto found = search::grouped_optcnn(g.view(), on);
    CHECK(found.exact);
    const search::operator_groups groups = search::group_operators(g.view());
    for (const std::vector<int>& kind : groups.kinds) {
        for (int op : kind) {
            CHECK(found.best.ops[ts::to_size(op)] == found.best.ops[ts::to_size(kind[0])]);
        }
    }
    CHECK(found.cost <= ts::cost::total_cost(g.view(), search::data_parallel(g.view(), 4), on));
    const auto wide = search::grouped_optcnn(g.view(), on, {}, 10); // beyond the limit: a local optimum
    CHECK_FALSE(wide.exact);
    CHECK(wide.cost >= found.cost);
}
