// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/coarse/parts.hpp"
#include "tessera/execute/local/search_threads.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/recurrent.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/coarse/coarse_search.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

using small_rnn = networks::rnnlm_parts<3, 64, 50>::network;

index_t simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    return ts::simulation::simulate(g, ts::lower(g, s.view(), on.devices()), on).makespan;
}

/// Random strategies for a part, priced there and, repeated, on the whole machine: how far the worst price is off,
/// relative.
double worst_price(const ts::graph& network, const ts::cluster& on, int devices, bool collectives) {
    const ts::graph_view g = network.view();
    const int copies = on.devices() / devices;
    const ts::graph small = ts::with_batch(g, g.tensors[0].extents[0] / copies);
    const ts::graph_view part = small.view();
    search::proposal_options o;
    o.devices = devices;
    const search::proposer propose(part, on, o);
    search::random_numbers pick{3};
    ts::strategy now = search::data_parallel(part, devices);
    ts::simulation::task_times times;
    times.collectives = collectives;
    ts::simulation::task_times in_parts = times;
    in_parts.parts = copies;
    double worst = 0;
    for (int i = 0; i < 25; ++i) {
        const ts::strategy whole = search::repeated(g, devices, now, copies);
        REQUIRE_NOTHROW(ts::require(g, whole.view(), on.devices()));
        const ts::plan plan_of_part = ts::lower(part, now.view(), on.devices());
        for (const ts::task& t : plan_of_part.tasks) {
            REQUIRE(t.device < devices);
        }
        const auto priced = static_cast<double>(ts::simulation::simulate(part, plan_of_part, on, in_parts).makespan);
        const auto real = static_cast<double>(
            ts::simulation::simulate(g, ts::lower(g, whole.view(), on.devices()), on, times).makespan);
        worst = std::max(worst, std::abs(priced / real - 1));
        for (const ts::change& x : propose.next(now, pick)) {
            ts::apply(now, x);
        }
        now = ts::compacted(now);
    }
    return worst;
}

search::coarse_search_options small_search(int threads) {
    search::coarse_search_options o;
    o.search.chain.budget = 20;
    o.search.chain.patience = 20;
    o.search.threads = ts::search_threads(threads);
    o.search.drop_slow_starts = true;
    o.search.most_chains = 2;
    o.search.rounds = 2;
    o.rounds = 2;
    o.search.far_behind = o.search.slow_start = 1; // so that chains keep what they have found
    return o;
}

} // namespace

TEST_CASE("parts: of what machines are made") {
    CHECK(search::parts_to_search(ts::cluster(ts::machines::p100_nodes(16)), 64) == std::vector<int>{4, 16});
    CHECK(search::parts_to_search(ts::cluster(ts::machines::k80_nodes(4)), 64) == std::vector<int>{4});
    CHECK(search::parts_to_search(ts::cluster(ts::machines::k80_nodes(4)), 6).empty()); // not the same samples for all
    CHECK(search::parts_to_search(ts::cluster(ts::machines::p100_nodes(1)), 64).empty());
    CHECK(search::parts_to_search(ts::cluster(ts::machines::heterogeneous()), 64).empty());
    const ts::cluster on(ts::machines::p100_nodes(4));
    CHECK(search::is_part(on, 8));
    CHECK(search::is_part(on, 2));
    CHECK_FALSE(search::is_part(on, 3));
    CHECK_FALSE(search::is_part(ts::cluster(ts::machines::p100_nodes(4, 3)), 2)); // a node of 3 is not made of 2
}

TEST_CASE("parts: a machine renumbered across its nodes, and strategies in the old numbers") {
    const ts::cluster on(ts::machines::k80_nodes(4));
    const std::vector<int> order = search::across_nodes(16, 4);
    CHECK(std::vector<int>(order.begin(), order.begin() + 5) == std::vector<int>{0, 4, 8, 12, 1});
    const ts::cluster across(search::renumbered(on.graph(), order));
    for (int a = 0; a < 16; ++a) {
        for (int b = 0; b < 16; ++b) {
            const ts::route r = across.between(a, b);
            const ts::route old = on.between(order[ts::to_size(a)], order[ts::to_size(b)]);
            REQUIRE(r.latency == old.latency);
            REQUIRE(r.lanes.size() == old.lanes.size());
            REQUIRE((across.node_of(a) == across.node_of(b)) == (a % 4 == b % 4));
        }
    }
    const ts::graph g = ts::describe<small_rnn>(64);
    const ts::strategy s = search::operator_placement(g.view(), 4, 4);
    CHECK(simulated(g.view(), s, across) == simulated(g.view(), search::in_old_numbers(g.view(), s, order), on));
    CHECK(worst_price(g, across, 4, true) < 0.1); // four parts share each node's card
}

TEST_CASE("parts: renumbered and repeated strategies keep what else a strategy says") {
    const ts::cluster on(ts::machines::k80_nodes(4));
    const std::vector<int> order = search::across_nodes(16, 4);
    const ts::cluster across(search::renumbered(on.graph(), order));
    const ts::graph g = ts::describe<networks::mlp>(66);
    ts::strategy s = search::data_parallel(g.view(), 4);
    s.cut(0, g.view().describe(0).find_loop(ts::loop_name::sample), {10, 30, 50});
    s.place(0, {3, 1, 8, 12});
    s.micro_batches = 2;
    s.overlap = true;
    s.statistics = ts::statistics_over::mini_batch;
    s.parameters_on = 5;
    const ts::strategy old = search::in_old_numbers(g.view(), s, order);
    CHECK(old.parameters_on == order[5]);
    const auto same_else = [&](const ts::strategy& a) {
        return a.micro_batches == 2 && a.steps_per_plan == s.steps_per_plan && a.overlap &&
               a.statistics == s.statistics && a.sync == s.sync;
    };
    CHECK(same_else(old));
    CHECK(ts::change_of(old, 0).pool == std::vector<ts::index_t>{10, 30, 50, order[3], order[1], order[8], order[12]});
    CHECK(simulated(g.view(), s, across) == simulated(g.view(), old, on));
    s = search::data_parallel(g.view(), 4);
    s.parameters_on = 5;
    CHECK(simulated(g.view(), s, across) == simulated(g.view(), search::in_old_numbers(g.view(), s, order), on));
    const ts::graph of_64 = ts::describe<networks::mlp>(64);
    s = search::data_parallel(ts::with_batch(of_64.view(), 16).view(), 4);
    s.micro_batches = 2;
    s.overlap = true;
    s.statistics = ts::statistics_over::mini_batch;
    ts::message all{ts::exchange::all_reduce, 0, {}};
    for (int p = 0; p < of_64.view().parameter_count; ++p) {
        all.slices.push_back({p, 0, 1});
    }
    s.sync.messages.push_back(all);
    const ts::strategy whole = search::repeated(of_64.view(), 4, s, 4);
    CHECK(same_else(whole));
    CHECK(whole.parameters_on == -1);
    CHECK_NOTHROW(ts::require(of_64.view(), whole.view(), 16));
}

TEST_CASE("parts: a strategy of every part is what the whole machine does, priced alike") {
    const ts::cluster p100(ts::machines::p100_nodes(4));
    const ts::cluster k80(ts::machines::k80_nodes(4));
    const ts::graph rnn = ts::describe<small_rnn>(64);
    const ts::graph mlp = ts::describe<networks::mlp>(64);
    CHECK(worst_price(rnn, p100, 4, true) < 0.03);
    CHECK(worst_price(mlp, k80, 4, true) < 0.03);
    CHECK(worst_price(mlp, p100, 8, false) < 0.6); // servers: what the other parts send keeps lanes at other times
    CHECK(worst_price(rnn, k80, 4, false) < 0.6);
    // Data parallelism repeated is data parallelism.
    const ts::strategy data = search::data_parallel(rnn.view(), 16);
    const ts::graph quarter = ts::with_batch(rnn.view(), 16);
    const ts::strategy again = search::repeated(rnn.view(), 4, search::data_parallel(quarter.view(), 4), 4);
    CHECK(simulated(rnn.view(), again, p100) == simulated(rnn.view(), data, p100));
}

TEST_CASE("coarse search: the same on one thread and on three; no slower than any start, simulated as a whole") {
    const ts::graph g = ts::describe<small_rnn>(64);
    const ts::cluster on(ts::machines::p100_nodes(4));
    std::vector<search::named_strategy> found[2];
    for (const int i : {0, 1}) {
        found[i] = search::search_parts(g.view(), on, small_search(i == 0 ? 1 : 3));
        REQUIRE(found[i].size() > 3);
    }
    CHECK(found[0][0].name == "found on 4 of 16");
    CHECK(found[0][1].name == "found across 4 nodes");
    CHECK(found[0][2].name == "found across 4 nodes, turned");
    REQUIRE(found[0].size() == found[1].size());
    for (std::size_t k = 0; k < found[0].size(); ++k) {
        CHECK(found[0][k].value.ops == found[1][k].value.ops);
        CHECK(found[0][k].value.pool == found[1][k].value.pool);
    }
    for (std::size_t k = 3; k < found[0].size(); ++k) { // of the other chains, never the same twice
        CHECK(found[0][k].name == "found on 4 of 16 (" + std::to_string(k - 1) + "), turned");
        for (std::size_t other = 2; other < k; ++other) {
            CHECK((found[0][k].value.ops != found[0][other].value.ops ||
                   found[0][k].value.pool != found[0][other].value.pool));
        }
        CHECK_NOTHROW(ts::require(g.view(), found[0][k].value.view(), 16));
    }
    std::vector<search::named_strategy> starts = search::hand_designed(g.view(), on);
    starts.insert(starts.end(), found[0].begin(), found[0].end());
    search::parallel_search whole(g.view(), on, starts, small_search(2).search);
    const auto result = whole.run();
    CHECK(result.cost == simulated(g.view(), result.best, on));
    std::size_t with_proposals = 0;
    for (const auto& c : result.chains) {
        CHECK(result.cost <= c.start_cost);
        with_proposals += c.made > 0 ? 1 : 0;
    }
    CHECK(with_proposals == 2);
    CHECK(search::search_parts(g.view(), ts::cluster(ts::machines::p100_nodes(1)), small_search(1)).size() ==
          search::layers_side_by_side({g.view(), ts::cluster(ts::machines::p100_nodes(1)), {}},
                                      search::data_parallel(g.view(), 4))
              .size());
    CHECK(result.chains.size() == starts.size() + 1); // and a random start
    // The same in one call, which counts the proposals of all searches.
    std::int64_t made = 0;
    std::int64_t of_whole = 0;
    int grown = 0;
    const auto at_once = search::coarse_search(g.view(), on, search::hand_designed(g.view(), on), small_search(2),
                                               [&](const search::search_progress& p) {
                                                   CHECK(p.made >= made); // equal where a start has been priced
                                                   grown += p.made > made ? 1 : 0;
                                                   made = p.made;
                                               });
    CHECK(grown > 3);
    CHECK(at_once.cost == result.cost);
    CHECK(at_once.best.ops == result.best.ops);
    CHECK(at_once.best.pool == result.best.pool);
    for (const auto& c : at_once.chains) {
        of_whole += c.made;
    }
    search::part_search parts(g.view(), on, small_search(2));
    CHECK(parts.run({}).size() == found[0].size());
    CHECK(parts.made() > 0);
    CHECK(made == parts.made() + of_whole);
}

TEST_CASE("coarse search: a start that costs what another does is not searched from before those that do not") {
    const ts::graph g = ts::describe<small_rnn>(64);
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::strategy data = search::data_parallel(g.view(), 4);
    ts::strategy mirrored = data;
    for (int op = 0; op < g.view().op_count; ++op) {
        mirrored.place(op, {3, 2, 1, 0});
    }
    REQUIRE(simulated(g.view(), mirrored, on) == simulated(g.view(), data, on));
    search::parallel_search_options o = small_search(1).search;
    o.random_starts = 0;
    const auto found = search::parallel_search(g.view(), on,
                                               {{"data parallel", data},
                                                {"mirrored", mirrored},
                                                {"channels", search::mesh(g.view(), 1, 4)},
                                                {"single device", search::single_device(g.view())}},
                                               o)
                           .run();
    REQUIRE(found.chains.size() == 4);
    CHECK(found.chains[0].made > 0);
    CHECK(found.chains[1].made > 0);
    CHECK(found.chains[0].start_cost != found.chains[1].start_cost);
    CHECK(found.chains[3].start == "mirrored");
    CHECK(found.chains[3].made == 0);
}
