// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/mcmc/mcmc.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/recurrent.hpp"
#include "support/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/exhaustive/simulated.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

struct wide : ts::linear<512> {};
struct head : ts::linear<256> {};
struct two_layers : ts::sequential<ts::features<512>, wide, head, ts::cross_entropy> {};

index_t simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    return ts::simulation::simulate(g, ts::lower(g, s.view(), on.devices()), on).makespan;
}

std::vector<search::named_strategy> starts(const ts::graph_view& g, int devices) {
    return {{"data parallel", search::data_parallel(g, devices)}, {"single device", search::single_device(g)}};
}

search::mcmc_options small(std::int64_t budget) {
    search::mcmc_options o;
    o.budget = budget;
    return o;
}

/// Least makespan over all configurations that are offered and all placements on distinct devices.
index_t exhaustive(const ts::graph_view& g, const ts::cluster& on, std::int64_t& space) {
    std::vector<std::vector<std::pair<ts::configuration, std::vector<int>>>> choices;
    space = 1;
    for (int op = 0; op < g.op_count; ++op) {
        choices.emplace_back();
        for (const ts::configuration& c : search::enumerate(g.describe(op), on.devices(), {})) {
            for (int a = 0; a < on.devices(); ++a) {
                if (c.shards() == 1) {
                    choices.back().push_back({c, {a}});
                }
                for (int b = 0; b < on.devices() && c.shards() == 2; ++b) {
                    if (a != b) {
                        choices.back().push_back({c, {a, b}});
                    }
                }
            }
        }
        space *= static_cast<std::int64_t>(choices.back().size());
    }
    std::vector<std::size_t> at(choices.size(), 0);
    index_t best = INT64_MAX;
    while (true) {
        ts::strategy s(g);
        for (std::size_t op = 0; op < at.size(); ++op) {
            s.ops[op] = choices[op][at[op]].first;
            s.place(static_cast<int>(op), choices[op][at[op]].second);
        }
        best = std::min(best, simulated(g, s, on));
        std::size_t op = 0;
        while (op < at.size() && ++at[op] == choices[op].size()) {
            at[op++] = 0;
        }
        if (op == at.size()) {
            return best;
        }
    }
}

} // namespace

TEST_CASE("mcmc: what is found costs what it says, and no start costs less") {
    const ts::graph g = ts::describe<networks::alexnet>(64);
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    const auto found = search::mcmc(g.view(), on, starts(g.view(), 4), small(300));
    CHECK(found.cost == simulated(g.view(), found.best, on));
    CHECK_NOTHROW(ts::require(g.view(), found.best.view(), 4));
    for (const auto& c : found.chains) {
        CHECK(found.cost <= c.cost);
        CHECK(c.cost <= c.start_cost);
    }
    CHECK(found.cost < simulated(g.view(), search::data_parallel(g.view(), 4), on));
}

TEST_CASE("mcmc: with a price of bytes the cost is that of time and bytes, and what is found moves less") {
    const ts::graph g = ts::describe<networks::alexnet>(64);
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    search::mcmc_options o = small(300);
    const auto moved = [&](const ts::strategy& s) { return ts::lower(g.view(), s.view(), 4).moved_bytes; };
    const auto fast = search::mcmc(g.view(), on, starts(g.view(), 4), o);
    o.milliseconds_per_gigabyte = 1000;
    const auto thrifty = search::mcmc(g.view(), on, starts(g.view(), 4), o);
    CHECK(thrifty.cost == simulated(g.view(), thrifty.best, on) + moved(thrifty.best)); // 1 ns a byte
    CHECK(thrifty.cost < simulated(g.view(), fast.best, on) + moved(fast.best));
    CHECK(moved(thrifty.best) < moved(fast.best));
    CHECK(simulated(g.view(), fast.best, on) <= simulated(g.view(), thrifty.best, on));
    MESSAGE(moved(fast.best) << " bytes, with the price " << moved(thrifty.best));
    for (const double price : {-1.0, 1e7, std::nan("")}) {
        o.milliseconds_per_gigabyte = price;
        CHECK_THROWS_WITH_AS(search::mcmc(g.view(), on, starts(g.view(), 4), o),
                             doctest::Contains("a gigabyte between devices cannot cost"), ts::error);
    }
}

TEST_CASE("mcmc: the same seed finds the same, another may not; a chain can be run in parts") {
    const ts::graph g = ts::describe<networks::lenet5>(32);
    const ts::cluster on(ts::machines::k80_nodes(1));
    search::mcmc_options o = small(200);
    o.patience = 200;
    o.temperature = 0.1;
    search::mcmc_chain whole(g.view(), on, search::data_parallel(g.view(), 4), o);
    whole.run(200);
    search::mcmc_chain parts(g.view(), on, search::data_parallel(g.view(), 4), o);
    for (int i = 0; i < 20; ++i) {
        parts.run(10);
    }
    CHECK(whole.best_cost() == parts.best_cost());
    CHECK(whole.best().ops == parts.best().ops);
    CHECK(whole.accepted() == parts.accepted());
    CHECK(whole.made() == 200);
    o.seed = 2;
    search::mcmc_chain other(g.view(), on, search::data_parallel(g.view(), 4), o);
    other.run(200);
    CHECK(other.accepted() != whole.accepted());
}

TEST_CASE("mcmc: a chain stops after half of its proposals brought nothing") {
    const ts::graph g = ts::describe<networks::lenet5>(32);
    const ts::cluster on(ts::machines::p100_nodes(1, 1)); // one device: nothing can be better
    search::mcmc_options o = small(100'000);
    o.patience = 50;
    search::mcmc_chain chain(g.view(), on, search::single_device(g.view()), o);
    chain.run(100'000);
    CHECK(chain.made() < 100);
    CHECK(chain.best_cost() == simulated(g.view(), search::single_device(g.view()), on));
}

TEST_CASE("mcmc: a chain stops when doubling its work brings little, and does no more than its most work") {
    const ts::graph g = ts::describe<networks::lenet5>(32);
    const ts::cluster on(ts::machines::p100_nodes(1));
    search::mcmc_options o = small(100'000);
    o.stop = search::stop_rule::doubling;
    o.patience = 50;
    o.least_work = 30'000;
    o.most_work = 10'000'000;
    for (const double gain : {0.0, 0.002, 0.05}) {
        o.least_gain = gain;
        // Step by step, with the best cost after each, in which the rule can be looked up.
        search::mcmc_chain chain(g.view(), on, search::single_device(g.view()), o);
        std::vector<std::pair<std::int64_t, index_t>> seen;
        while (!chain.stopped()) {
            chain.run(1);
            seen.push_back({chain.work(), chain.best_cost()});
        }
        const auto after =
            [&](std::int64_t work) { // the first time that so much has been done, from the 25th proposal on
                std::size_t i = 24;
                while (i < seen.size() && seen[i].first < work) {
                    ++i;
                }
                return i;
            };
        std::size_t at = after(15'000);
        while (true) {
            REQUIRE(at < seen.size());
            const std::size_t next = after(2 * seen[at].first);
            REQUIRE(next < seen.size());
            const auto best = static_cast<double>(seen[next].second);
            if (static_cast<double>(seen[at].second) - best <= gain * best) {
                CHECK(next + 1 == seen.size());
                break;
            }
            at = next;
        }
        CHECK(chain.work() >= o.least_work);
        MESSAGE("stops after ", chain.made(), " proposals");
    }
    o.least_gain = -1; // never
    o.most_work = 40'000;
    search::mcmc_chain chain(g.view(), on, search::single_device(g.view()), o);
    chain.run(o.budget);
    CHECK(chain.stopped());
    CHECK(chain.made() < o.budget);
    CHECK(chain.work() >= o.most_work);
    CHECK(chain.work() < o.most_work + 2 * static_cast<std::int64_t>(chain.activities()));
}

TEST_CASE(
    "mcmc: a chain goes on from its best after proposals that brought nothing; so much work in parts is the whole") {
    const ts::graph g = ts::describe<networks::lenet5>(32);
    const ts::cluster on(ts::machines::k80_nodes(1));
    search::mcmc_options o = small(400);
    o.patience = 400;
    o.temperature = 100; // takes nearly everything
    o.return_after = 1;
    o.proposals.groups = false; // one operator at a time
    search::mcmc_chain chain(g.view(), on, search::data_parallel(g.view(), 4), o);
    int elsewhere = 0;
    while (!chain.stopped()) {
        chain.run(1, 1);
        const ts::strategy now = chain.state().current;
        REQUIRE(chain.current_cost() == simulated(g.view(), now, on));
        int different = 0;
        for (int op = 0; op < g.view().op_count; ++op) {
            different += ts::change_of(now, op) == ts::change_of(chain.best(), op) ? 0 : 1;
        }
        REQUIRE(different <= 1);
        elsewhere += different;
    }
    CHECK(elsewhere > 100);
    CHECK(chain.made() == 400);
    search::mcmc_chain whole(g.view(), on, search::data_parallel(g.view(), 4), o);
    whole.run(400);
    CHECK(whole.work() == chain.work());
    CHECK(whole.best().ops == chain.best().ops);
}

TEST_CASE("mcmc: finds the optimum of a space that can be searched exhaustively") {
    const ts::cluster on(ts::machines::p100_nodes(2, 1));
    const ts::graph g = ts::describe<two_layers>(16);
    std::int64_t space = 0;
    const index_t best = exhaustive(g.view(), on, space);
    MESSAGE("strategies: ", space);
    CHECK(space == 384);
    search::mcmc_options o = small(3000);
    o.patience = 3000;
    o.temperature = 0.05;
    CHECK(search::mcmc(g.view(), on, starts(g.view(), 2), o).cost == best);
}

TEST_CASE("mcmc: reaches the optimum of all blocks' choices, which equals that of full simulations of each") {
    const ts::cluster on(ts::machines::p100_nodes(1, 2));
    const ts::graph g = ts::describe<two_layers>(16);
    search::mcmc_options o = small(2000);
    o.patience = 2000;
    o.temperature = 0.05;
    o.proposals.only_blocks = o.proposals.only_regular = true;
    const ts::strategy start = search::data_parallel(g.view(), 2);
    const auto all = search::simulate_all(g.view(), on, start, o.proposals);
    const search::proposer propose(g.view(), on, o.proposals);
    REQUIRE(propose.groups().blocks.size() == 2); // the loss belongs to the second layer
    index_t best = INT64_MAX;
    double space = 0;
    for (const search::proposal& a : propose.choices_of_block(0)) {
        for (const search::proposal& b : propose.choices_of_block(1)) {
            ts::strategy s = start;
            for (const search::proposal* p : {&a, &b}) {
                for (const ts::change& x : *p) {
                    ts::apply(s, x);
                }
            }
            REQUIRE_NOTHROW(ts::require(g.view(), s.view(), 2));
            best = std::min(best, simulated(g.view(), s, on));
            ++space;
        }
    }
    CHECK(all.cost == best);
    CHECK(all.space == space);
    CHECK(simulated(g.view(), all.best, on) == best);
    CHECK(search::mcmc(g.view(), on, starts(g.view(), 2), o).cost == best);
}

TEST_CASE("mcmc: proposals for kinds and blocks keep the rules, and a kind's operators get one configuration") {
    const ts::graph g = ts::describe<networks::rnnlm_parts<3, 16, 50>::network>(16);
    const ts::cluster on(ts::machines::p100_nodes(2));
    const search::proposer propose(g.view(), on, {});
    ts::strategy now = search::data_parallel(g.view(), 8);
    search::random_numbers pick{4};
    int several = 0;
    int blocks = 0;
    for (int i = 0; i < 500; ++i) {
        const search::proposal p = propose.next(now, pick);
        several += p.size() > 1 ? 1 : 0;
        for (const ts::change& x : p) {
            ts::apply(now, x);
        }
        now = ts::compacted(now);
        REQUIRE_NOTHROW(ts::require(g.view(), now.view(), 8));
        if (p.size() > 1 &&
            propose.groups().blocks[ts::to_size(propose.groups().block_of[ts::to_size(p[0].op)])].size() == p.size()) {
            ++blocks;
        }
    }
    CHECK(several > 200);
    CHECK(blocks > 30);
    CHECK_NOTHROW(ts::require(g.view(), propose.random_start(now, pick).view(), 8));
}

TEST_CASE("mcmc: pinned operators stay") {
    const ts::graph g = ts::describe<networks::alexnet>(64);
    const ts::cluster on(ts::machines::p100_nodes(1));
    search::mcmc_options o = small(200);
    o.proposals.pinned.assign(ts::to_size(g.view().op_count), 0);
    for (std::size_t op = 0; op < o.proposals.pinned.size(); op += 2) {
        o.proposals.pinned[op] = 1;
    }
    const ts::strategy start = search::data_parallel(g.view(), 4);
    const auto found = search::mcmc(g.view(), on, {{"data parallel", start}}, o);
    bool moved = false;
    for (std::size_t op = 0; op < start.ops.size(); ++op) {
        CHECK((o.proposals.pinned[op] == 0 || found.best.ops[op] == start.ops[op]));
        moved = moved || !(found.best.ops[op] == start.ops[op]);
    }
    CHECK(moved);
    o.proposals.pinned.pop_back();
    CHECK_THROWS_AS(search::mcmc(g.view(), on, {{"data parallel", start}}, o), ts::error);
}

TEST_CASE("mcmc: only what fits in memory counts, and a chain leaves what does not") {
    const ts::graph g = ts::describe<networks::mlp>(64);
    ts::device_graph machine = ts::machines::p100_nodes(1);
    // Data parallelism holds 20 million parameters with their gradients on every device: 160 MB; a quarter of them
    // fits.
    machine.classes[0].memory_bytes = 80'000'000;
    const ts::cluster on(machine);
    search::mcmc_options o = small(1500);
    o.patience = 1500;
    const auto found = search::mcmc(g.view(), on, starts(g.view(), 4), o);
    const search::memory_estimate needs(g.view(), on, found.best, 0);
    CHECK(needs.excess() == 0);
    CHECK(search::fits(g.view(), on, found.best));
    CHECK_FALSE(search::fits(g.view(), on, search::data_parallel(g.view(), 4)));
    CHECK(search::memory_estimate(g.view(), on, search::data_parallel(g.view(), 4), 0).excess() > 0);
    machine.classes[0].memory_bytes = 1'000;
    CHECK_THROWS_AS(search::mcmc(g.view(), ts::cluster(machine), starts(g.view(), 4), small(100)), ts::error);
}

TEST_CASE("memory estimate: kept up to date it equals a fresh one, and a plan needs no less") {
    const ts::graph g = ts::describe<networks::lenet5>(32);
    const ts::cluster on(ts::machines::p100_nodes(1));
    ts::strategy now = search::data_parallel(g.view(), 4);
    search::memory_estimate kept(g.view(), on, now, 1);
    const search::proposer propose(g.view(), on, {});
    search::random_numbers pick{9};
    for (int i = 0; i < 200; ++i) {
        const search::proposal p = propose.next(now, pick);
        if (p.empty()) {
            continue;
        }
        kept.excess_after(now, p);
        kept.accept();
        for (const ts::change& x : p) {
            ts::apply(now, x);
        }
        REQUIRE_NOTHROW(ts::require(g.view(), now.view(), 4));
        REQUIRE(kept.bytes() == search::memory_estimate(g.view(), on, now, 1).bytes());
    }
}

TEST_CASE(
    "mcmc: where devices copy in turn, what is returned costs what its finished plan takes, and no start costs less") {
    ts::machine threads = ts::machines::host(3);
    ts::device_graph host = ts::fully_linked(threads);
    host.classes[0].serial_copies = true;
    const ts::cluster on(host);
    const auto finished = [&](const ts::graph_view& g, const ts::strategy& s) {
        ts::plan p = ts::lower(g, s.view(), on.devices());
        ts::finish(g, p);
        return ts::simulation::simulate(g, p, on).makespan;
    };
    int waited = 0;
    const ts::graph nets[] = {ts::describe<networks::lenet5>(12), ts::describe<test_networks::inception::network>(6),
                              ts::describe<test_networks::residual_net::network>(6),
                              ts::describe<networks::rnnlm_parts<3, 16, 50>::network>(6)};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const ts::graph& g : nets) {
            search::mcmc_options o = small(40);
            o.seed = seed;
            const auto found = search::mcmc(g.view(), on, starts(g.view(), 3), o);
            CHECK(found.cost == finished(g.view(), found.best));
            bool is_start = false;
            for (const search::named_strategy& s : starts(g.view(), 3)) {
                is_start = is_start || (s.name == found.start && ts::is_same(s.value, found.best));
            }
            CHECK(found.is_start == is_start);
            for (const search::named_strategy& s : starts(g.view(), 3)) {
                CHECK(found.cost <= finished(g.view(), s.value));
            }
            waited += found.priced < found.cost ? 1 : 0;
        }
    }
    CHECK(waited > 0); // else this proves nothing
}
