// SPDX-License-Identifier: Apache-2.0
// docs/adding_a_search.md, word for word: the search, and what it finds beside the baselines.
// clang-format off
#include <tessera/search/compared.hpp>
#include <tessera/search/record.hpp>

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
            next.ops[ts::to_size(op)] = ts::search::baseline_configuration(g, op, on.devices(), b);
            const ts::index_t time = ts::search::simulate_finished(g, on, next).makespan;
            if (time < least) {
                least = time;
                best = next;
            }
        }
    }
    return best;
}

inline constexpr ts::option_row rounds_option{"rounds", "of greedy, through all operators", 2, 1, 1000};

inline constexpr ts::search::search_record greedy_record{
    .name = "greedy",
    .title = "greedy",
    .about = "one operator after the other, by simulation",
    .run = [](const ts::graph_view& g, const ts::cluster& on, const ts::search::search_options& o) {
        return ts::search::search_found{greedy(g, on, {o.values.as<int>(rounds_option)})};
    },
    .options = {rounds_option},
};
// clang-format on

#include <tessera/machine/presets.hpp>
#include <tessera/search/searches.hpp>

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

TEST_CASE("the search of the page is run by its name") {
    const ts::graph g = ts::describe<network>(64);
    const ts::cluster node(ts::machines::p100_nodes(1));
    // clang-format off
    std::vector<const ts::search::search_record*> searches = ts::search::every_search();
    searches.push_back(&greedy_record);
    const auto& row = ts::find_record(ts::record_list(searches), "greedy", "search");
    ts::search::search_options how;
    how.values.set("rounds", 3);
    const ts::strategy by_name = ts::search::run(row, g.view(), node, how).best;
    // clang-format on
    CHECK(by_name == greedy(g.view(), node, {3}));
    how.values.set("round", 3);
    CHECK_THROWS_WITH_AS((void)ts::search::run(row, g.view(), node, how),
                         "the search 'greedy' has no option 'round'; did you mean rounds?; it has rounds", ts::error);
    searches.pop_back();
    CHECK_THROWS_AS((void)ts::find_record(ts::record_list(searches), "greedy", "search"), ts::error);
}
