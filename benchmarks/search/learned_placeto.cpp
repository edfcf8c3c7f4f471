// SPDX-License-Identifier: Apache-2.0
// Placeto on a generated family of graphs, four devices, beside annealing, a Markov chain and random placements: one graph
// with different rewards and groupings, and several graphs together with others that are held out.
// Usage: learned_placeto one | groups | family [UPDATES [FAMILY]], the family 0 (image cells), 1 (translation) or 2
#include "benchmarks/support/placing.hpp"
#include "tessera/host_runtime.hpp"
#include "tessera/learned/placeto.hpp"
#include "tessera/search/placement/cut_placement.hpp"
#include "tessera/search/placement/list_placement.hpp"
#include "tessera/search/placement/metropolis.hpp"

#include <cstdlib>
#include <deque>

namespace tl = tessera::learned;
namespace sp = tessera::search::placement;

namespace {

using benchmarks::annealed;
using benchmarks::placed_row;
using benchmarks::seconds_since;
using cell = benchmarks::placed_cell;
using benchmarks::placing;

constexpr int devices = 4;
constexpr int most_groups = 24;
constexpr int seeds = 5;
constexpr tl::placeto_shape shape{.nodes = 32, .edges = 320, .devices = devices};
constexpr tl::placeto_shape medium{.nodes = 96, .edges = 320, .devices = devices};
constexpr tl::placeto_shape large{.nodes = 288, .edges = 640, .devices = devices};

tl::placeto_options options(int updates, std::uint64_t seed) {
    return {.learning_rate = 5e-3,
            .last_rate = 5e-4,
            .rate_updates = updates,
            .entropy = 0.2,
            .entropy_updates = updates,
            .seed = seed};
}

sp::grouping chains(placing& p) { return benchmarks::groups_of(p, most_groups, shape.nodes); }

/// The best after a quarter, half and all updates, and what the policy then does by itself; returns the prices of one
/// training, on average.
template <tl::placeto_shape S, class Groups>
std::int64_t curve(const std::string& name, std::deque<placing>& problems, int updates, const tl::placeto_options& how,
                   Groups groups) {
    std::vector<cell> cells(5);
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t prices = 0;
    double variance = 0;
    int shown = 0;
    for (placing& p : problems) {
        for (int seed = 1; seed <= seeds; ++seed) {
            tl::placeto_options o = how;
            o.seed = static_cast<std::uint64_t>(seed);
            tl::placeto<S> policy(o);
            const int number = policy.add(p.graph, p.on, groups(p));
            shown = policy.at(number).groups.count;
            cells[0].add(p, policy.place(number, {.passes = 3}));
            for (int i = 1; i <= updates; ++i) {
                variance +=
                    policy.update(number).return_variance / updates / seeds / static_cast<double>(problems.size());
                i == updates / 4 ? cells[1].add(p, policy.best(number)) : void();
                i == updates / 2 ? cells[2].add(p, policy.best(number)) : void();
            }
            cells[3].add(p, policy.best(number));
            cells[4].add(p, policy.place(number, {.passes = 3}));
            prices += policy.best(number).evaluations;
        }
    }
    const auto trainings = static_cast<std::int64_t>(problems.size()) * seeds;
    char text[160];
    std::snprintf(text, sizeof text, "%s (%d groups; %lld prices, %.1f s, variance %.3f)", name.c_str(), shown,
                  static_cast<long long>(prices / trainings), seconds_since(begin) / static_cast<double>(trainings),
                  variance);
    placed_row(text, cells);
    return prices / trainings;
}

void others(std::deque<placing>& problems, std::int64_t prices) {
    std::printf("\n| search | step / work |\n|---|---|\n");
    std::vector<cell> c(6);
    for (placing& p : problems) {
        c[0].add(p, sp::equal_memory(p.prices));
        c[1].add(p, sp::by_list(p.prices));
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            c[2].add(p, sp::at_random(p.prices, prices, seed, chains(p)));
            c[3].add(p, sp::metropolis(p.prices, {.evaluations = prices, .seed = seed}));
            c[4].add(p, annealed(p, prices, seed));
            c[5].add(p, annealed(p, 10 * prices, seed));
        }
    }
    const char* names[] = {"equal memory", "list scheduling", "random placements of the groups",
                           "Markov chain", "annealing",       "annealing, 10 times as many prices"};
    for (std::size_t i = 0; i < c.size(); ++i) {
        placed_row(i < 2 || i == 5 ? names[i] : std::string(names[i]) + ", " + std::to_string(prices) + " prices",
                   {c[i]});
    }
}

void one_graph(tl::family of, int updates, bool groupings) {
    std::deque<placing> problems;
    const tl::family_split split = tl::split_family();
    for (std::size_t i = 0; i < (groupings ? 1U : 2U); ++i) {
        problems.emplace_back(of, split.training[i], devices);
        std::printf("%s: %d nodes\n", problems.back().graph.name.c_str(), problems.back().graph.count());
    }
    std::printf("\n| learner | untrained, 3 passes | best after %d updates | %d | %d | trained, 3 passes |\n"
                "|---|---|---|---|---|---|\n",
                updates / 4, updates / 2, updates);
    tl::placeto_options o = options(updates, 1);
    if (groupings) {
        const auto grouped = [&](const char* name, auto groups) {
            const int count = groups(problems[0]).count;
            count == 0 || count > medium.nodes ? curve<large>(name, problems, updates, o, groups)
            : count > shape.nodes              ? curve<medium>(name, problems, updates, o, groups)
                                               : curve<shape>(name, problems, updates, o, groups);
        };
        grouped("chains contracted",
                [](placing& p) { return sp::chain_groups(p.graph, p.prices.order(), most_groups); });
        grouped("a cut by weight", [](placing& p) { return sp::cut_groups(p.prices, most_groups); });
        grouped("co-located", [](placing& p) { return sp::colocated_groups(p.graph, p.prices.order()); });
        grouped("none", [](placing&) { return sp::grouping{}; });
        return;
    }
    const std::int64_t prices = curve<shape>("immediate rewards", problems, updates, o, chains);
    o.rewards = tl::placeto_rewards::terminal;
    curve<shape>("terminal rewards", problems, updates, o, chains);
    o.rewards = tl::placeto_rewards::immediate;
    o.all_actions = true;
    curve<shape>("all devices priced", problems, updates, o, chains);
    others(problems, prices);
}

/// The same groups, joined by edges drawn at random.
tl::group_graph shuffled(tl::group_graph g, std::uint64_t seed) {
    tessera::search::random_numbers pick{seed};
    for (tl::group_edge& e : g.edges) {
        e.from = pick(g.count() - 1);
        e.to = e.from + 1 + pick(g.count() - 1 - e.from);
    }
    tl::find_reaches(g);
    return g;
}

void family(tl::family of, int updates) {
    constexpr int tuning = 4;
    std::deque<placing> training;
    std::deque<placing> held_out;
    const tl::family_split split = tl::split_family();
    for (std::size_t i = 0; i < 4; ++i) {
        training.emplace_back(of, split.training[i], devices);
        held_out.emplace_back(of, split.held_out[i], devices);
    }
    std::vector<cell> c(8);
    std::vector<cell> searched(4);
    const auto begin = std::chrono::steady_clock::now();
    for (int seed = 1; seed <= seeds; ++seed) {
        const auto s = static_cast<std::uint64_t>(seed);
        tl::placeto<shape> policy(options(updates, s));
        tl::placeto<shape> untrained(options(updates, s));
        std::vector<int> numbers;
        for (placing& p : training) {
            numbers.push_back(policy.add(p.graph, p.on, chains(p)));
        }
        policy.train(numbers, updates);
        for (std::size_t i = 0; i < training.size(); ++i) {
            c[0].add(training[i], policy.best(numbers[i]));
            c[1].add(training[i], policy.place(numbers[i], {.passes = 3}));
        }
        for (placing& p : held_out) {
            const int number = policy.add(p.graph, p.on, chains(p));
            c[2].add(p, untrained.best_of(untrained.add(p.graph, p.on, chains(p)), 16));
            c[3].add(p, policy.place(number, {.passes = 3}));
            c[4].add(p, policy.best_of(number, 16));
            const tl::group_graph seen = policy.at(number).seen;
            policy.see(number, shuffled(seen, s));
            c[5].add(p, policy.best_of(number, 16));
            policy.see(number, seen);
            tl::placeto_options few = options(tuning, s);
            tl::placeto<shape> tuned(few);
            tl::placeto<shape> scratch(few);
            tuned.take_weights(policy);
            tuned.add(p.graph, p.on, chains(p));
            scratch.add(p.graph, p.on, chains(p));
            tuned.train({0}, tuning);
            scratch.train({0}, tuning);
            c[6].add(p, tuned.best(0));
            c[7].add(p, scratch.best(0));
            const std::int64_t prices = tuned.best(0).evaluations;
            searched[0].add(p, sp::at_random(p.prices, 16, s, chains(p)));
            searched[1].add(p, annealed(p, 16, s));
            searched[2].add(p, annealed(p, prices, s));
            searched[3].add(p, annealed(p, 10 * prices, s));
        }
    }
    std::printf(
        "%s: 4 graphs to train on, %d updates in all, 4 held out, %d seeds of %.1f s\n\n| training: best | by the "
        "trained policy | held out: untrained, best of 16 | trained, 3 passes | best of 16 | edges shuffled, best "
        "of 16 | %d updates after training | %d updates from scratch |\n|---|---|---|---|---|---|---|---|\n|",
        tl::to_text(of), updates, seeds, seconds_since(begin) / seeds, tuning, tuning);
    for (const cell& x : c) {
        x.print();
    }
    std::printf(
        "\n\n| held out: random, 16 prices | annealing, 16 prices | annealing, as many as %d updates | 10 times as "
        "many |\n|---|---|---|---|\n|",
        tuning);
    for (const cell& x : searched) {
        x.print();
    }
    std::printf("\n");
}

} // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "one";
    const int updates = count > 2 ? std::atoi(arguments[2]) : 100;
    const int of = count > 3 ? std::atoi(arguments[3]) : 0;
    if (updates < 4 || of < 0 || of > 2 || (what != "one" && what != "groups" && what != "family")) {
        std::fprintf(stderr, "learned_placeto one | groups | family [UPDATES [FAMILY]], 0 to 2\n");
        return 2;
    }
    try {
        const auto chosen = static_cast<tl::family>(of);
        what == "family" ? family(chosen, updates) : one_graph(chosen, updates, what == "groups");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "learned_placeto: %s\n", e.what());
        return 1;
    }
}
