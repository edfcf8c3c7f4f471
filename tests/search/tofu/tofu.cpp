// SPDX-License-Identifier: Apache-2.0
// Tofu's recursion against all splits tried: each step is the best after those before it; all steps together are the
// best possible where a step costs the same whatever steps came before, and how far they are from it elsewhere.
#include "tessera/search/tofu/tofu.hpp"

#include "random_graph.hpp"

#include "examples/networks.hpp"
#include "tessera/search/exhaustive/exhaustive.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using search::tofu_count;

/// Every operator a node of its own, parameters kept whole.
search::tofu_options plain(tofu_count count) {
    search::tofu_options o;
    o.coarse = {false, false};
    o.traffic = {count, false};
    return o;
}

bool rises(const std::vector<ts::index_t>& steps) { return std::is_sorted(steps.begin(), steps.end()); }

/// How often the recursion is as good as all choices of all steps, tried one by one.
struct tally {
    int equal = 0;
    int rising = 0; ///< no step costs less than the one before it
    double worst = 1;
    int zero = 0; ///< nothing moves at all: not counted among the others
    int graphs = 0;

    void add(const ts::graph& g, int devices, tofu_count count) {
        const search::tofu_steps steps = search::steps_for(1, devices);
        const search::tofu_result r = search::tofu_search(g.view(), steps, plain(count));
        REQUIRE(r.exact);
        if (r.bytes == 0) {
            ++zero;
            return;
        }
        search::detail::tofu_searcher all(g.view(), steps, plain(count));
        const ts::index_t least = search::brute_force(all.problem_of(all.all_histories())).cost;
        REQUIRE(least <= r.bytes);
        ++graphs;
        equal += least == r.bytes ? 1 : 0;
        rising += rises(r.step_bytes) ? 1 : 0;
        worst = std::max(worst, static_cast<double>(r.bytes) / static_cast<double>(std::max<ts::index_t>(1, least)));
    }
};

} // namespace

TEST_CASE("the recursion is the best of all splits where no step makes another dearer") {
    // Every split cuts whatever an operator reads and writes, in all steps, and steps are counted one by one: then each
    // costs what it would cost alone, and the best of each makes the best of all.
    for (const int devices : {4, 8}) {
        tally t;
        for (unsigned seed = 0; t.graphs < (devices == 4 ? 500 : 100); ++seed) {
            t.add(tests::tofu_graph_maker(seed).cuts(devices == 4 ? 4 : 3), devices, tofu_count::groups);
        }
        CAPTURE(devices);
        CHECK(t.equal == t.graphs);
        CHECK(t.rising == t.graphs);
        CHECK(t.zero < 20 * t.graphs);
    }
    // What devices really receive is less than the sum over steps, and two orders of the same splits may share it: with
    // three steps all at once can then do better than one after the other.
    tally t;
    for (unsigned seed = 0; t.graphs < 50; ++seed) {
        t.add(tests::tofu_graph_maker(seed).cuts(3), 8, tofu_count::devices);
    }
    CHECK(t.equal < t.graphs);
    CHECK(t.worst < 1.2);
}

TEST_CASE("the recursion on random layers: never better than all splits tried, mostly as good, and its steps rise") {
    for (const int devices : {4, 8}) {
        tally paper;
        tally exact;
        for (unsigned seed = 0; paper.graphs < (devices == 4 ? 500 : 200); ++seed) {
            const ts::graph g = tests::tofu_graph_maker(seed).layers(devices == 4 ? 4 : 3);
            paper.add(g, devices, tofu_count::groups);
            exact.add(g, devices, tofu_count::devices);
        }
        CAPTURE(devices);
        MESSAGE("devices ", devices, ", as the paper counts: equal ", paper.equal, " of ", paper.graphs, ", worst ",
                paper.worst, "; what devices receive: equal ", exact.equal, " of ", exact.graphs, ", worst ",
                exact.worst, ", rising ", exact.rising);
        CHECK(paper.rising == paper.graphs);
        CHECK(paper.equal * 10 > paper.graphs * 9);
        CHECK(paper.equal < paper.graphs); // it is not optimal in general
        CHECK(paper.worst < 1.3);
        CHECK(exact.equal * 10 > exact.graphs * 6);
        CHECK(exact.worst < 1.7);
    }
}

TEST_CASE("each step is the best after those before it") {
    int tried = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).layers(5);
        for (const tofu_count count : {tofu_count::groups, tofu_count::devices}) {
            const search::tofu_steps steps = search::steps_for(2, 6); // factors 2, 3, 2
            const search::tofu_result r = search::tofu_search(g.view(), steps, plain(count));
            search::detail::tofu_searcher all(g.view(), steps, plain(count));
            ts::index_t before = 0;
            for (int i = 0; i < steps.count(); ++i) {
                std::vector<std::vector<std::vector<int>>> offered;
                for (int op = 0; op < g.view().op_count; ++op) { // a group of its own each, whose choices are its loops
                    const std::vector<int>& own = r.histories[ts::to_size(op)];
                    const bool by_element = all.groups().elementwise[ts::to_size(op)] != 0;
                    CHECK((!by_element || own[0] == search::loop_of_choice(g.view().describe(op), true, own[0])));
                    offered.push_back(all.extended(op, {{own.begin(), own.begin() + i}}));
                }
                before += r.step_bytes[ts::to_size(i)];
                CHECK(search::brute_force(all.problem_of(offered)).cost == before);
                ++tried;
            }
            CHECK(before == r.bytes);
        }
    }
    CHECK(tried == 600);
}

TEST_CASE("a counterexample: the order of steps matters, for what is whole in every group costs each of them") {
    // Two linear layers and what follows. By channels everywhere in the first step; the flat optimum converts before it
    // replicates.
    const ts::graph g = tests::tofu_graph_maker(61).layers(3);
    const search::tofu_steps steps = search::steps_for(1, 4);
    const search::tofu_result r = search::tofu_search(g.view(), steps, plain(tofu_count::groups));
    const search::tofu_result flat = search::flat_tofu(g.view(), steps, plain(tofu_count::groups));
    CHECK(flat.exact);
    CHECK(r.bytes > flat.bytes);
}

TEST_CASE("coarsening loses nothing on small networks, and the recursion takes what data parallelism and one weird "
          "trick would") {
    const ts::graph g = ts::describe<networks::alexnet>(256);
    search::tofu_options fine;
    fine.coarse = {false, false};
    const search::tofu_steps steps = search::steps_for(1, 8);
    const search::tofu_result coarse = search::tofu_search(g.view(), steps);
    CHECK(coarse.bytes == search::tofu_search(g.view(), steps, fine).bytes);
    CHECK(coarse.groups < g.view().op_count);
    search::tofu_options without;
    without.splits.with_reduction = false;
    CHECK(coarse.bytes < search::tofu_search(g.view(), steps, without).bytes);
    for (const int devices : {1, 2, 3, 6}) {
        const search::tofu_result r = search::tofu_search(g.view(), search::steps_for(1, devices));
        ts::require(g.view(), r.best.view(), devices);
        CHECK(static_cast<int>(r.step_bytes.size()) == r.steps.count());
        CHECK((devices > 1 || r.bytes == 0));
    }
}

TEST_CASE("of both counts the strategy with which devices exchange less") {
    int other = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).layers(5);
        const search::tofu_steps steps = search::steps_for(1, 8);
        const search::tofu_options exact = plain(tofu_count::devices);
        const search::tofu_result both = search::tofu_by_both_counts(g.view(), steps, exact);
        const search::tofu_result one = search::tofu_search(g.view(), steps, exact);
        search::detail::tofu_searcher paper(g.view(), steps, plain(tofu_count::groups));
        paper.recursive();
        const ts::index_t by_groups =
            search::detail::tofu_searcher(g.view(), steps, exact).bytes_of_groups(paper.chosen());
        CHECK(both.bytes == std::min(one.bytes, by_groups));
        CHECK(std::accumulate(both.step_bytes.begin(), both.step_bytes.end(), ts::index_t{0}) == both.bytes);
        other += by_groups < one.bytes ? 1 : 0;
    }
    CHECK(other > 0); // it happens
    CHECK(other < 150);
}
