// SPDX-License-Identifier: Apache-2.0
// docs/adding_a_search.md, word for word: the search, and what it finds beside the baselines.
// clang-format off
#include <tessera/search/compared.hpp>

namespace ts = tessera;

struct greedy_options {
    int rounds = 2; ///< through all operators
};

/// One operator after the other takes the baseline's configuration with which the step, simulated, is the shortest.
inline ts::strategy greedy(const ts::graph_view& g, const ts::cluster& on, const greedy_options& how = {}) {
    using ts::search::baseline;
    ts::strategy best = ts::search::data_parallel(g, on.devices());
    ts::index_t least = ts::search::simulate_finished(g, on, best).makespan;
    for (int i = 0; i < how.rounds * g.op_count; ++i) {
        const int op = i % g.op_count;
        for (const baseline b : {baseline::single_device, baseline::data_parallel, baseline::model_parallel}) {
            ts::strategy next = best;
            next.ops[static_cast<std::size_t>(op)] = ts::search::baseline_configuration(g, op, on.devices(), b);
            const ts::index_t time = ts::search::simulate_finished(g, on, next).makespan;
            if (time < least) {
                least = time;
                best = next;
            }
        }
    }
    return best;
}
// clang-format on

#include <tessera/machine/presets.hpp>

#include <doctest/doctest.h>

namespace {

struct conv : ts::conv2d<32, ts::window<3>> {};
struct fc1 : ts::linear<2048> {};
struct fc2 : ts::linear<10> {};
struct network : ts::sequential<ts::image<3, 32, 32>, conv, ts::relu, ts::max_pool<2>, ts::flatten, fc1, ts::relu, fc2,
                                ts::cross_entropy> {};

} // namespace

TEST_CASE("the search of the page beside the baselines") {
    // clang-format off
    const ts::graph g = ts::describe<network>(64);
    const ts::cluster node(ts::machines::p100_nodes(1));
    const ts::strategy found = greedy(g.view(), node);
    ts::require(g.view(), found.view(), node.devices()); // it keeps all rules
    const ts::search::compared_search all = ts::search::compare_with_baselines(g.view(), node, "greedy", found);
    CHECK(all.result().name == "greedy"); // on this network it is the fastest
    CHECK(all.shortfall() == 0);
    // clang-format on
    CHECK(greedy(g.view(), node) == found); // the same each time
    CHECK(all.result().step.makespan < all.all[1].step.makespan);
    CHECK(all.all[1].name == "data parallel");
}
