// SPDX-License-Identifier: Apache-2.0
// Placeto on a generated family of graphs, four devices, beside annealing, a Markov chain and random placements: one
// graph with different rewards and groupings, and a family of graphs, with others that are held out, and with other
// embeddings. Usage: learned_placeto one | groups | family | embeddings [UPDATES [FAMILY]], the family 0 (image cells),
// 1 (translation) or 2; family 0 FAMILY: its searches alone
#include "benchmarks/support/placing_families.hpp"
#include "tessera/host.hpp"
#include "tessera/learned/placeto.hpp"
#include "tessera/search/placement/cut_placement.hpp"
#include "tessera/search/placement/list_placement.hpp"
#include "tessera/search/placement/metropolis.hpp"

#include <cstdlib>
#include <deque>
#include <span>

namespace tl = tessera::learned;
namespace sp = tessera::search::placement;

namespace {

using benchmarks::annealed;
using benchmarks::family_members;
using benchmarks::family_row;
using benchmarks::placed_row;
using benchmarks::seconds_since;
using cell = benchmarks::placed_cell;
using benchmarks::placing;

constexpr int devices = 4;
constexpr int most_groups = 24;
constexpr int seeds = 5;
constexpr tl::placeto_shape shape{.nodes = 32, .edges = 320, .devices = devices};
constexpr tl::placeto_shape medium{.nodes = 96, .edges = 320, .devices = devices};
constexpr tl::placeto_shape roomy{.nodes = 128, .edges = 320, .devices = devices};
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
std::int64_t curve(const std::string& name, std::deque<placing>& problems, int updates,
                   const tl::placeto_options& options, Groups groups) {
    std::vector<cell> cells(5);
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t prices = 0;
    double variance = 0;
    int shown = 0;
    for (placing& p : problems) {
        for (int seed = 1; seed <= seeds; ++seed) {
            tl::placeto_options o = options;
            o.seed = static_cast<std::uint64_t>(seed);
            tl::placeto<S> policy(o);
            const int number = policy.add(p.graph, p.on, groups(p));
            shown = policy.at(number).groups.count;
            cells[0].add(p, policy.place(number, {.passes = 3}));
            for (int i = 1; i <= updates; ++i) {
                variance +=
                    policy.update(number).return_variance / updates / seeds / static_cast<double>(problems.size());
                if (i == updates / 4) {
                    cells[1].add(p, policy.best(number));
                }
                if (i == updates / 2) {
                    cells[2].add(p, policy.best(number));
                }
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
            const int found = groups(problems[0]).count;
            const int count = found > 0 ? found : problems[0].graph.count();
            count > roomy.nodes    ? curve<large>(name, problems, updates, o, groups)
            : count > medium.nodes ? curve<roomy>(name, problems, updates, o, groups)
            : count > shape.nodes  ? curve<medium>(name, problems, updates, o, groups)
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

/// The best of as many placements of a policy, which learns nothing from them, as each of the counts says: what it has
/// made of random starts after each of four passes.
template <class Policy>
std::vector<sp::found> drawn(Policy& policy, int number, std::span<const int> counts, std::uint64_t seed) {
    constexpr int passes = 4;
    std::vector<sp::found> all;
    sp::found best;
    for (int k = 0; k < counts.back() / passes; ++k) {
        sp::found f = policy.place(number, {passes, true, seed * 1'000'003 + static_cast<std::uint64_t>(k), {}});
        best = k == 0 || f.better_than(best) ? std::move(f) : best;
        if ((k + 1) * passes == counts[all.size()]) {
            all.push_back(best);
        }
    }
    return all;
}

/// From a placement, or from a random one where that is empty.
sp::found annealed_groups(placing& p, std::int64_t evaluations, std::uint64_t seed, const sp::assignment& start = {}) {
    sp::annealing_options o;
    o.evaluations = evaluations;
    o.seed = seed;
    o.groups = chains(p);
    o.start = start.empty() ? sp::at_random(p.prices, 1, seed, o.groups).where : start;
    return sp::anneal(p.prices, o);
}

constexpr int counts[] = {16, 64};

/// What a policy does not see of a graph.
enum class hidden { nothing, messages, everything };
template <class Policy>
void hide(Policy& policy, int number, hidden what) {
    if (what != hidden::nothing) {
        tl::group_graph seen = policy.at(number).seen;
        seen.edges.clear();
        if (what == hidden::everything) {
            tl::find_reaches(seen);
        }
        policy.see(number, seen);
    }
}

/// Trains a policy on the members of a family that are not held out, every device priced.
template <class Policy>
std::int64_t train(Policy& policy, std::deque<placing>& training, int updates, hidden what = hidden::nothing) {
    std::vector<int> numbers;
    for (placing& p : training) {
        numbers.push_back(policy.add(p.graph, p.on, chains(p)));
        hide(policy, numbers.back(), what);
    }
    policy.train(numbers, updates);
    std::int64_t prices = 0;
    for (const int number : numbers) {
        prices += policy.best(number).evaluations;
    }
    return prices / static_cast<std::int64_t>(numbers.size());
}
tl::placeto_options all_priced(int updates, std::uint64_t seed) {
    tl::placeto_options o = options(updates, seed);
    o.all_actions = true;
    return o;
}

/// The held-out members by random placements of their groups, and by annealing, over nodes and over the same groups.
void searches(family_members& members, std::deque<family_row>& all) {
    for (const int n : counts) {
        for (const int times : {1, 10}) {
            all.push_back({"annealing, " + std::to_string(times * n) + " prices"});
            family_row& nodes = all.back();
            all.push_back({"annealing of the groups, " + std::to_string(times * n) + " prices"});
            family_row& groups = all.back();
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                nodes.begin();
                groups.begin();
                for (placing& p : members.held_out) {
                    nodes.add(p, annealed(p, times * n, seed), members.held_out.size());
                    groups.add(p, annealed_groups(p, times * n, seed), members.held_out.size());
                }
            }
        }
    }
}

/// Held-out members are placed by a policy that is trained on the others, without any training on them, beside what the
/// same policy does before it is trained or with edges that are drawn at random, and random placements.
void family(tl::family of, int updates) {
    family_members members(of, devices);
    std::deque<family_row> all;
    std::vector<family_row*> trained, untrained, shuffled_edges, random;
    for (const int n : counts) {
        const auto add = [&](std::vector<family_row*>& list, const std::string& name) {
            all.push_back({name + ", " + std::to_string(n) + " prices"});
            list.push_back(&all.back());
        };
        add(trained, "trained");
        add(untrained, "before training");
        add(shuffled_edges, "trained, edges drawn at random");
        add(random, "random placements of the groups");
    }
    // A policy's best is where annealing of the groups goes on, up to the larger number of prices.
    const std::string goes_on = ", " + std::to_string(counts[0]) + " prices, then annealing of the groups, " +
                                std::to_string(counts[1]) + " in all";
    all.push_back({"trained" + goes_on});
    family_row* const trained_on = &all.back();
    all.push_back({"before training" + goes_on});
    family_row* const untrained_on = &all.back();
    double seconds = 0;
    std::int64_t prices = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto begin = std::chrono::steady_clock::now();
        const tl::placeto_options o = all_priced(updates, seed);
        tl::placeto<shape> policy(o);
        tl::placeto<shape> before(o);
        prices += train(policy, members.training, updates) / seeds;
        seconds += seconds_since(begin) / seeds;
        for (family_row& c : all) {
            c.begin();
        }
        for (placing& p : members.held_out) {
            const int number = policy.add(p.graph, p.on, chains(p));
            const int first = before.add(p.graph, p.on, chains(p));
            const auto put = [&](family_row* to, const sp::found& f) { to->add(p, f, members.held_out.size()); };
            const auto put_all = [&](const std::vector<family_row*>& to, const std::vector<sp::found>& found) {
                for (std::size_t i = 0; i < found.size(); ++i) {
                    put(to[i], found[i]);
                }
            };
            const tl::group_graph seen = policy.at(number).seen;
            const auto go_on = [&](family_row* to, const sp::found& from) {
                sp::found f = annealed_groups(p, counts[1] - counts[0], seed, from.where);
                put(to, f.better_than(from) ? f : from);
            };
            const std::vector<sp::found> found = drawn(policy, number, counts, seed);
            const std::vector<sp::found> found_before = drawn(before, first, counts, seed);
            put_all(trained, found);
            put_all(untrained, found_before);
            go_on(trained_on, found[0]);
            go_on(untrained_on, found_before[0]);
            policy.see(number, shuffled(seen, seed));
            put_all(shuffled_edges, drawn(policy, number, counts, seed));
            for (std::size_t i = 0; i < std::size(counts); ++i) {
                put(random[i], sp::at_random(p.prices, counts[i], seed, chains(p)));
            }
        }
        std::fprintf(stderr, "%s, seed %d: %.0f s, trained %.3f, before %.3f\n", tl::to_text(of),
                     static_cast<int>(seed), seconds_since(begin), trained[0]->cost.back(), untrained[0]->cost.back());
    }
    std::printf("%s: %zu graphs to train on, %d updates in all (%lld prices of each graph, %.0f s), %zu held out\n\n",
                tl::to_text(of), members.training.size(), updates, static_cast<long long>(prices), seconds,
                members.held_out.size());
    searches(members, all);
    print_rows(all, seeds);
    std::printf("\n");
    for (std::size_t i = 0; i < std::size(counts); ++i) {
        const auto wins = [&](const std::vector<family_row*>& others) {
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
void searches_alone(tl::family of) {
    family_members members(of, devices);
    std::deque<family_row> all;
    searches(members, all);
    std::printf("%s\n\n", tl::to_text(of));
    print_rows(all, seeds);
}

constexpr int embedding_seeds = 3;

/// What a policy with another embedding of the graph makes of the held-out members after the same training.
template <tl::placeto_shape S>
void embedding(const char* name, family_members& members, int updates, std::deque<family_row>& all, hidden what) {
    std::vector<family_row*> mine;
    for (const int n : counts) {
        all.push_back({std::string(name) + ", " + std::to_string(n) + " prices"});
        mine.push_back(&all.back());
    }
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t seed = 1; seed <= embedding_seeds; ++seed) {
        const tl::placeto_options o = all_priced(updates, seed);
        tl::placeto<S> policy(o);
        train(policy, members.training, updates, what);
        for (family_row* c : mine) {
            c->begin();
        }
        for (placing& p : members.held_out) {
            const int number = policy.add(p.graph, p.on, chains(p));
            hide(policy, number, what);
            const std::vector<sp::found> found = drawn(policy, number, counts, seed);
            for (std::size_t i = 0; i < found.size(); ++i) {
                mine[i]->add(p, found[i], members.held_out.size());
            }
        }
    }
    std::fprintf(stderr, "%s: %.0f s\n", name, seconds_since(begin));
}
constexpr tl::placeto_shape with_rounds(int rounds) {
    tl::placeto_shape s = shape;
    s.rounds = rounds;
    return s;
}
void embeddings(tl::family of, int updates) {
    family_members members(of, devices);
    std::deque<family_row> all;
    embedding<shape>("messages over 4 edges", members, updates, all, hidden::nothing);
    embedding<with_rounds(1)>("over 1 edge", members, updates, all, hidden::nothing);
    embedding<with_rounds(8)>("over 8 edges", members, updates, all, hidden::nothing);
    embedding<with_rounds(1)>("no messages: ancestors, descendants and others pooled", members, updates, all,
                              hidden::messages);
    embedding<with_rounds(1)>("nothing of the graph: all other groups pooled", members, updates, all,
                              hidden::everything);
    std::printf("%s, %d updates\n\n", tl::to_text(of), updates);
    print_rows(all, embedding_seeds);
}

} // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "one";
    const int updates = count > 2 ? std::atoi(arguments[2]) : 100;
    const int of = count > 3 ? std::atoi(arguments[3]) : 0;
    if ((updates < 4 && (what != "family" || updates != 0)) || of < 0 || of > 2 ||
        (what != "one" && what != "groups" && what != "family" && what != "embeddings")) {
        std::fprintf(stderr, "learned_placeto one | groups | family | embeddings [UPDATES [FAMILY]], 0 to 2\n");
        return 2;
    }
    try {
        const auto chosen = static_cast<tl::family>(of);
        what == "family"       ? (updates > 0 ? family(chosen, updates) : searches_alone(chosen))
        : what == "embeddings" ? embeddings(chosen, updates)
                               : one_graph(chosen, updates, what == "groups");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "learned_placeto: %s\n", e.what());
        return 1;
    }
}
