// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/compared.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/recurrent.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/search/mcmc/mcmc.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

index_t finished(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    ts::plan p = ts::lower(g, s.view(), on.devices());
    ts::finish(g, p);
    return ts::simulation::simulate(g, p, on).makespan;
}

/// Linear layers alone: their splits by samples, outputs and inputs.
struct wide : ts::linear<512> {};
struct head : ts::linear<256> {};
struct two_layers : ts::sequential<ts::features<512>, wide, head, ts::cross_entropy> {};

/// The place of a configuration that splits one loop over the first devices.
std::size_t place_of(const search::optcnn_problem& p, int op, int loop, int degree) {
    const auto& all = p.configurations[ts::to_size(op)];
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].shards() == degree && all[i].degree[loop] == degree && all[i].cuts[loop] < 0) {
            return i;
        }
    }
    throw ts::error("not offered");
}

} // namespace

TEST_CASE("a run-time search returns the fastest of what it found and its baselines by name; a faithful one what it "
          "found, with the shortfall") {
    const ts::graph g = ts::describe<networks::alexnet>(64);
    for (const ts::cluster& on :
         {ts::cluster(ts::machines::p100_nodes(2, 2)), ts::cluster(ts::machines::heterogeneous()),
          ts::cluster(ts::machines::this_host(2))}) {
        // One device is a bad answer.
        const auto bad = search::compare_with_baselines(g.view(), on, "bad", search::single_device(g.view()));
        CHECK(bad.result().name != "bad");
        CHECK(bad.all[0].name == "bad");
        CHECK(bad.shortfall() > 0);
        CHECK(to_text(bad).find("returned: " + bad.result().name + "\n") == 0);
        CHECK(to_text(bad).find("bad is ") != std::string::npos);
        index_t least = INT64_MAX;
        for (const search::compared_strategy& x : bad.all) {
            REQUIRE(x.refused == "");
            CHECK(x.step.makespan == finished(g.view(), x.value, on));
            least = std::min(least, x.step.makespan);
        }
        CHECK(bad.result().step.makespan == least);
        const auto faithful =
            search::compare_with_baselines(g.view(), on, "bad", search::single_device(g.view()), {.faithful = true});
        CHECK(faithful.result().name == "bad");
        CHECK(faithful.shortfall() == bad.shortfall());

        const auto found = search::optcnn_search(g.view(), on);
        CHECK(found.all[0].name == "OptCNN");
        CHECK(found.result().step.makespan <= finished(g.view(), search::data_parallel(g.view(), on.devices()), on));
        CHECK(found.result().step.makespan <= finished(g.view(), search::single_device(g.view()), on));
        CHECK(ts::is_same(found.model.best, found.all[0].value));
        CHECK_NOTHROW(ts::require(g.view(), found.best().view(), on.devices()));
    }
    // What does not fit comes after what does.
    ts::device_graph small = ts::machines::p100_nodes(1);
    small.classes[0].memory_bytes = 400'000'000;
    const auto fit =
        search::compare_with_baselines(g.view(), ts::cluster(small), "data", search::data_parallel(g.view(), 4));
    CHECK(!fit.all[0].step.fits);
    CHECK(fit.result().step.fits);
}

TEST_CASE("OptCNN prices what moves on its routes: within a node as there, and sums by the best of the collectives "
          "among the devices that share") {
    const ts::graph g = ts::describe<two_layers>(64);
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    const auto p = search::make_optcnn_problem(g.view(), on);
    const auto worst = search::make_optcnn_problem(g.view(), ts::uniform_machine(on));
    const int sample = g.view().describe(0).find_loop(ts::loop_name::sample);
    const int channel = g.view().describe(0).find_loop(ts::loop_name::channel);
    for (const auto& [degree, within] : {std::pair{2, true}, std::pair{4, false}}) {
        const std::size_t by_channel = place_of(p, 0, channel, degree);
        const std::size_t by_sample = place_of(p, 1, sample, degree);
        const std::size_t columns = p.configurations[1].size();
        const ts::search::cost_t here = p.costs.table(0)[by_channel * columns + by_sample];
        // Every device has 512 / degree channels of all samples, and needs all channels of 64 / degree samples: the
        // same bytes from each other one.
        const index_t bytes = index_t{512 / degree} * (64 / degree) * 4;
        std::map<int, index_t> load;
        index_t latency = 0;
        for (int a = 0; a < degree; ++a) {
            for (int b = 0; b < degree; ++b) {
                const ts::route r = on.between(a, b);
                latency = std::max(latency, r.latency);
                for (const int lane : r.lanes) {
                    load[lane] += bytes;
                }
            }
        }
        index_t busiest = 0;
        for (const auto& [lane, all] : load) {
            busiest = std::max(busiest, all * 1000 / on.lane_megabytes(lane));
        }
        CHECK(here == 2 * (latency + busiest)); // and the gradients back
        CHECK((here < worst.costs.table(0)[place_of(worst, 0, channel, degree) * worst.configurations[1].size() +
                                           place_of(worst, 1, sample, degree)]) == within);
        // By samples: the weights' and biases' gradients are summed among all.
        std::vector<int> members;
        for (int d = 0; d < degree; ++d) {
            members.push_back(d);
        }
        const ts::cost::collective_choice sums = ts::cost::all_reduce_halves(on, members);
        const auto m = ts::cost::model_of(g.view(), 0);
        const std::size_t data = place_of(p, 0, sample, degree);
        ts::machine one = ts::uniform_machine(on);
        const index_t compute = ts::cost::compute_time(m, p.configurations[0][data], nullptr, one);
        const index_t sync = 2 * sums.best(512 * 512 * 4).time(512 * 512 * 4) + 2 * sums.best(512 * 4).time(512 * 4);
        CHECK(p.costs.unary(0)[data] == compute + sync);
    }
}

TEST_CASE("OptCNN on a device graph is the cheapest of all strategies under its prices") {
    for (const auto& [on, batch] : {std::pair{ts::cluster(ts::machines::p100_nodes(2, 2)), 64},
                                    {ts::cluster(ts::machines::heterogeneous()), 48},
                                    {ts::cluster(ts::machines::this_host(3)), 12}}) {
        const ts::graph g = ts::describe<two_layers>(batch);
        const auto p = search::make_optcnn_problem(g.view(), on);
        const auto found = search::solve_optcnn(g.view(), p, on.devices(), {});
        ts::search::cost_t least = INT64_MAX; // every choice, one by one
        std::vector<search::choice_t> choice(g.ops.size(), 0);
        int tried = 0;
        bool more = true;
        while (more) {
            least = std::min(least, p.costs.cost(choice));
            ++tried;
            std::size_t op = 0;
            while (op < choice.size() && ++choice[op] == p.costs.configurations(static_cast<int>(op))) {
                choice[op++] = 0;
            }
            more = op < choice.size();
        }
        CHECK(tried > 100);
        CHECK(found.cost == least);
    }
}

TEST_CASE("the additive model of a shard is that of the largest one where all are equal") {
    const ts::graph g = ts::describe<networks::lenet5>(12);
    const ts::machine on = ts::machines::p100_cluster(4);
    int compared = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        const auto m = ts::cost::model_of(g.view(), op);
        for (const ts::configuration& c : search::enumerate(m.d, 4, {})) {
            index_t most = 0;
            for (int i = 0; i < c.shards(); ++i) {
                most = std::max(most, ts::cost::shard_time(m, shard_at(c, nullptr, m.d, i), on));
            }
            const index_t whole = ts::cost::compute_time(m, c, nullptr, on);
            CHECK(most <= whole); // halos at the border are smaller
            CHECK(most * 100 >= whole * 90);
            ++compared;
        }
    }
    CHECK(compared > 100);
}

TEST_CASE("uneven cuts are proposed where devices are unequal") {
    CHECK(ts::cuts_in_proportion(90, {1, 2}) == std::vector<index_t>{30});
    CHECK(ts::cuts_in_proportion(8, {1, 1, 2, 4}) == std::vector<index_t>{1, 2, 4});
    CHECK(ts::cuts_in_proportion(4, {1, 1000, 1, 1}).empty()); // one each, which is even
    CHECK(ts::cuts_in_proportion(5, {1, 1000, 1, 1}) == std::vector<index_t>{1, 3, 4});
    CHECK(ts::cuts_in_proportion(8, {3, 3}).empty());
    CHECK(ts::cuts_in_proportion(1, {1, 2}).empty());
    CHECK(ts::cuts_in_proportion(9, {5}).empty());

    const ts::graph g = ts::describe<networks::alexnet>(96);
    const ts::cluster on(ts::machines::heterogeneous());
    const auto cut = [](const ts::strategy& s) {
        int n = 0;
        for (const ts::configuration& c : s.ops) {
            n += std::any_of(std::begin(c.cuts), std::end(c.cuts), [](int k) { return k >= 0; }) ? 1 : 0;
        }
        return n;
    };
    const ts::strategy even = search::data_parallel(g.view(), on.devices());
    const ts::strategy uneven = search::data_parallel_in_proportion(g.view(), on);
    CHECK(cut(uneven) == g.view().op_count);
    CHECK(finished(g.view(), uneven, on) < finished(g.view(), even, on));
    const auto found = search::optcnn_search(g.view(), on);
    CHECK(cut(found.model.best) > 0);
    const auto problem = search::make_optcnn_problem(g.view(), on);
    CHECK(cut(problem.strategy_of(std::vector<search::choice_t>(g.ops.size(), 0))) == 0);

    const search::proposer propose(g.view(), on, {});
    search::random_numbers pick{3};
    ts::strategy now = even;
    int uneven_ones = 0;
    for (int i = 0; i < 400; ++i) {
        for (const ts::change& x : propose.next(now, pick)) {
            ts::apply(now, x);
            CHECK(ts::change_of(now, x.op) == x);
            uneven_ones += std::any_of(std::begin(x.what.cuts), std::end(x.what.cuts), [](int k) { return k >= 0; });
        }
        REQUIRE_NOTHROW(ts::require(g.view(), now.view(), on.devices()));
    }
    CHECK(uneven_ones > 20);
    const search::proposer equal(g.view(), ts::cluster(ts::machines::p100_nodes(1)), {});
    CHECK(!equal.has_unequal_devices());
}

TEST_CASE("where eliminations leave much, variable elimination takes over at once and is exact; beyond its limits "
          "operators are grouped") {
    const ts::graph g = ts::describe<networks::rnnlm_parts<4, 64, 100>::network>(32);
    const ts::machine on = ts::machines::p100_cluster(4);
    search::optcnn_options o;
    o.offered.with_reduction = false;
    o.most_left = 100;
    const auto problem = search::make_optcnn_problem(g.view(), on, o.offered);
    const auto planned = search::plan_eliminations(problem.costs);
    CHECK(planned.remaining > 2);
    CHECK(planned.visited > o.most_left);
    const auto exact = search::optcnn_search(g.view(), on, o);
    CHECK(exact.by == search::optcnn_method::variable_elimination);
    CHECK(exact.exact);
    CHECK(exact.width >= 2);
    CHECK(exact.width == search::min_fill_order(problem.costs).width);
    CHECK(exact.cost == search::eliminate_variables(problem.costs).cost);
    CHECK(exact.cost == ts::cost::total_cost(g.view(), exact.best, on));
    o.exact.largest_table = 1000;
    const auto groups = search::optcnn_search(g.view(), on, o);
    CHECK(groups.by == search::optcnn_method::grouped);
    CHECK(!groups.exact);
    CHECK(groups.cost >= exact.cost);
    CHECK(groups.cost == ts::cost::total_cost(g.view(), groups.best, on));
    for (const ts::strategy& s : {search::data_parallel(g.view(), 4), search::model_parallel(g.view(), 4),
                                  search::one_weird_trick(g.view(), 4), search::single_device(g.view())}) {
        CHECK(groups.cost <= ts::cost::total_cost(g.view(), s, on));
    }
    // A chain is done by eliminations, whose plan is what they do.
    const ts::graph chain = ts::describe<networks::lenet5>(12);
    const auto by_rules = search::optcnn_search(chain.view(), on);
    CHECK(by_rules.by == search::optcnn_method::eliminations);
    CHECK(search::plan_eliminations(search::make_optcnn_problem(chain.view(), on).costs).relaxations ==
          by_rules.statistics.relaxations);
}
