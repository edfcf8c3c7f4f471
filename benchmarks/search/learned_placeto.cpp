// SPDX-License-Identifier: Apache-2.0
// Placeto on a generated family of graphs, four devices, beside annealing, a Markov chain and random placements: one graph
// with different rewards and groupings, and a family of graphs, with others that are held out.
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

/// The best of so many placements of a policy that learns nothing from them: what it has made of random starts after each of four passes.
template <class Policy>
sp::found drawn(Policy& policy, int number, int count, std::uint64_t seed) {
    constexpr int passes = 4;
    sp::found best;
    for (int k = 0; k < count / passes; ++k) {
        sp::found f = policy.place(number, {passes, true, seed * 1'000'003 + static_cast<std::uint64_t>(k), {}});
        best = k == 0 || f.better_than(best) ? std::move(f) : best;
    }
    return best;
}

/// One column of a family's table: means over the graphs of each seed, of costs, which memory that is missing makes higher.
struct column {
    std::string name;
    std::vector<double> cost{}; ///< by seed
    int fit = 0;
    int all = 0;

    void begin() { cost.push_back(0); }
    void add(double of_one, const sp::found& f, std::size_t graphs) {
        cost.back() += of_one / static_cast<double>(graphs);
        fit += f.feasible() ? 1 : 0;
        ++all;
    }
};

/// Trains on the members of a family that are not held out, every device priced; the held-out ones are placed by the trained policy without any training
/// on them, beside what the same policy does before it is trained or with edges that are drawn at random, random placements, and annealing.
void family(tl::family of, int updates) {
    std::deque<placing> training;
    std::deque<placing> held_out;
    const tl::family_split split = tl::split_family();
    for (const int i : split.training) {
        training.emplace_back(of, i, devices);
    }
    for (const int i : split.held_out) {
        held_out.emplace_back(of, i, devices);
    }
    constexpr int counts[] = {16, 64};
    std::deque<column> all;
    std::vector<column*> trained, untrained, shuffled_edges, random, annealing;
    for (const int n : counts) {
        const auto add = [&](std::vector<column*>& list, const std::string& name, int prices) {
            all.push_back({name + ", " + std::to_string(prices) + " prices"});
            list.push_back(&all.back());
        };
        add(trained, "trained", n);
        add(untrained, "before training", n);
        add(shuffled_edges, "trained, edges drawn at random", n);
        add(random, "random placements of the groups", n);
        add(annealing, "annealing", n);
        add(annealing, "annealing", 10 * n);
    }
    double seconds = 0;
    double prices = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto begin = std::chrono::steady_clock::now();
        tl::placeto_options o = options(updates, seed);
        o.all_actions = true;
        tl::placeto<shape> policy(o);
        tl::placeto<shape> before(o);
        std::vector<int> numbers;
        for (placing& p : training) {
            numbers.push_back(policy.add(p.graph, p.on, chains(p)));
        }
        policy.train(numbers, updates);
        for (const int number : numbers) {
            prices +=
                static_cast<double>(policy.best(number).evaluations) / static_cast<double>(numbers.size()) / seeds;
        }
        seconds += seconds_since(begin) / seeds;
        for (column& c : all) {
            c.begin();
        }
        for (placing& p : held_out) {
            const int number = policy.add(p.graph, p.on, chains(p));
            const int first = before.add(p.graph, p.on, chains(p));
            const tl::group_graph seen = policy.at(number).seen;
            for (std::size_t i = 0; i < std::size(counts); ++i) {
                const auto put = [&](column* to, const sp::found& f) {
                    to->add(policy.at(number).cost(f, o.memory_penalty), f, held_out.size());
                };
                put(trained[i], drawn(policy, number, counts[i], seed));
                put(untrained[i], drawn(before, first, counts[i], seed));
                policy.see(number, shuffled(seen, seed));
                put(shuffled_edges[i], drawn(policy, number, counts[i], seed));
                policy.see(number, seen);
                put(random[i], sp::at_random(p.prices, counts[i], seed, chains(p)));
                put(annealing[2 * i], annealed(p, counts[i], seed));
                put(annealing[2 * i + 1], annealed(p, 10 * counts[i], seed));
            }
        }
        std::fprintf(stderr, "%s, seed %d: %.0f s, trained %.3f, before %.3f\n", tl::to_text(of),
                     static_cast<int>(seed), seconds_since(begin), trained[0]->cost.back(), untrained[0]->cost.back());
    }
    std::printf("%s: %zu graphs to train on, %d updates in all (%.0f prices of each graph, %.0f s), %zu held out\n\n"
                "| held out |",
                tl::to_text(of), training.size(), updates, prices, seconds, held_out.size());
    for (int seed = 1; seed <= seeds; ++seed) {
        std::printf(" seed %d |", seed);
    }
    std::printf(" mean | fit |\n|---|");
    for (int i = 0; i < seeds + 2; ++i) {
        std::printf("---|");
    }
    std::printf("\n");
    for (const column& c : all) {
        std::printf("| %s |", c.name.c_str());
        double mean = 0;
        for (const double x : c.cost) {
            std::printf(" %.3f |", x);
            mean += x / seeds;
        }
        std::printf(" %.3f | %d of %d |\n", mean, c.fit, c.all);
    }
    std::printf("\n");
    for (std::size_t i = 0; i < std::size(counts); ++i) {
        const auto wins = [&](const std::vector<column*>& others) {
            int count = 0;
            for (std::size_t k = 0; k < seeds; ++k) {
                count += trained[i]->cost[k] < others[i]->cost[k] ? 1 : 0;
            }
            return count;
        };
        std::printf("%d prices: the trained policy is better than before training in %d of %d seeds, than random "
                    "placements in %d, than with edges drawn at random in %d\n",
                    counts[i], wins(untrained), seeds, wins(random), wins(shuffled_edges));
    }
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
