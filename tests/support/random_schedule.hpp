// SPDX-License-Identifier: Apache-2.0
// What verification has to say of schedules and synchronization: random ones, legal and damaged, and damaged plans,
// each with what has to happen to it.
#pragma once

#include "damaged_plan.hpp"
#include "networks.hpp"
#include "planned.hpp"
#include "policies.hpp"
#include "random_pipeline.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace test_support {

/// How often something happened, by its name.
struct counts_by_name {
    std::vector<std::pair<std::string, int>> rows;
    void add(const std::string& name) {
        for (auto& [known, count] : rows) {
            if (known == name) {
                ++count;
                return;
            }
        }
        rows.emplace_back(name, 1);
    }
    int total() const {
        int n = 0;
        for (const auto& [name, count] : rows) {
            n += count;
        }
        return n;
    }
};

/// The rule in the words of a refusal: without what it is said of, and without numbers.
inline std::string rule_of(const std::string& message) {
    std::string words = message.substr(0, message.find(" ["));
    const std::size_t refused = words.find("is refused: ");
    words = refused == std::string::npos ? words : words.substr(refused + 12);
    const std::string before = "parameter of ";
    if (const std::size_t name = words.find(before); name != std::string::npos) { // whose it is
        words.erase(name + before.size() - 4, words.find(' ', name + before.size()) - (name + before.size() - 4));
    }
    std::string rule;
    for (const char c : words) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit) {
            rule += c;
        } else if (rule.empty() || rule.back() != '#') {
            rule += '#';
        }
    }
    return rule;
}

/// A random order that the stages' edges allow: whichever worker and action come first. Any worker may have any stages;
/// where micro-batches are mirrored, worker w has those of worker (workers - 1 - w).
inline ts::pipeline_schedule random_order(const std::vector<std::vector<int>>& follows, int workers, int micro_batches,
                                          random& pick) {
    const int stages = static_cast<int>(follows.size());
    ts::pipeline_schedule s = ts::schedule::empty_schedule(workers, stages, micro_batches);
    std::vector<int> home;
    for (int i = 0; i < stages; ++i) {
        home.push_back(pick(workers));
    }
    const bool mirrors = pick(3) == 0;
    const bool splits = pick(2) == 0;
    const bool recomputes = pick(3) == 0;
    for (int m = 0; m < micro_batches; ++m) {
        s.mirrored.push_back(static_cast<char>(mirrors && pick(2) == 0 ? 1 : 0));
        s.keeps.push_back(static_cast<char>(pick(2)));
    }
    const auto at = [&](int stage, int m) { return ts::to_size(stage) * ts::to_size(micro_batches) + ts::to_size(m); };
    const std::size_t count = at(stages - 1, micro_batches - 1) + 1;
    std::vector<char> forward(count, 0), again(count, 0), backward(count, 0), weight(count, 0);
    while (true) {
        std::vector<ts::action> ready;
        for (int i = 0; i < stages; ++i) {
            for (int m = 0; m < micro_batches; ++m) {
                bool fed = true;
                bool answered = true;
                for (int j = 0; j < stages; ++j) {
                    for (const int to : follows[ts::to_size(j)]) {
                        fed = fed && (to != i || forward[at(j, m)] != 0);
                    }
                }
                for (const int to : follows[ts::to_size(i)]) {
                    answered = answered && backward[at(to, m)] != 0;
                }
                if (forward[at(i, m)] == 0) {
                    if (fed) {
                        ready.push_back({i, m, ts::action_kind::forward});
                    }
                    continue;
                }
                if (recomputes && again[at(i, m)] == 0 && backward[at(i, m)] == 0) {
                    ready.push_back({i, m, ts::action_kind::recompute});
                }
                if (answered && backward[at(i, m)] == 0) {
                    ready.push_back({i, m, splits ? ts::action_kind::backward_input : ts::action_kind::backward});
                }
                if (splits && backward[at(i, m)] != 0 && weight[at(i, m)] == 0) {
                    ready.push_back({i, m, ts::action_kind::backward_weight});
                }
            }
        }
        if (ready.empty()) {
            return s;
        }
        const ts::action x = ready[ts::to_size(pick(static_cast<int>(ready.size())))];
        const int own = home[ts::to_size(x.stage)];
        s.workers[ts::to_size(s.is_mirrored(x.micro_batch) ? workers - 1 - own : own)].push_back(x);
        std::vector<char>& done = x.what == ts::action_kind::forward           ? forward
                                  : x.what == ts::action_kind::recompute       ? again
                                  : x.what == ts::action_kind::backward_weight ? weight
                                                                               : backward;
        done[at(x.stage, x.micro_batch)] = 1;
    }
}

/// For every stage of a strategy those that read what it makes.
inline std::vector<std::vector<int>> stages_after(const ts::graph_view& g, const ts::strategy& s, int stages) {
    std::vector<std::vector<int>> after(ts::to_size(stages));
    for (int op = 0; op < g.op_count; ++op) {
        for (const int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            const int own = s.ops[ts::to_size(op)].stage;
            const int from = producer < 0 ? own : s.ops[ts::to_size(producer)].stage;
            if (from != own) {
                after[ts::to_size(from)].push_back(own);
            }
        }
    }
    return after;
}

/// Two actions of a worker change places, one is lost, doubled, or done by another worker, or numbers do not fit.
inline std::string damage(ts::pipeline_schedule& s, random& pick) {
    std::vector<ts::action>& list = s.workers[ts::to_size(pick(static_cast<int>(s.workers.size())))];
    if (list.empty()) {
        return "none";
    }
    const auto where = ts::to_size(pick(static_cast<int>(list.size())));
    if (list[where].what == ts::action_kind::recompute) { // nobody has to say when
        return "none";
    }
    switch (pick(6)) {
    case 0:
    case 1:
        std::swap(list[where], list[ts::to_size(pick(static_cast<int>(list.size())))]);
        return "two actions swapped";
    case 2:
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(where));
        return "an action lost";
    case 3:
        list.push_back(list[where]);
        return "an action doubled";
    case 4: {
        const ts::action x = list[where];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(where));
        s.workers[ts::to_size(pick(static_cast<int>(s.workers.size())))].push_back(x);
        return "an action at another worker's end";
    }
    default:
        list[where].micro_batch += 1;
        return "an action of another micro-batch";
    }
}

// ---- damaged plans --------------------------------------------------------------------------------------------------

/// In which list of a plan every task is.
inline std::vector<int> lists_of(const ts::plan& p) {
    std::vector<int> list(p.tasks.size(), -1);
    for (std::size_t d = 0; d < p.order.size(); ++d) {
        for (const int t : p.order[d]) {
            list[ts::to_size(t)] = static_cast<int>(d);
        }
    }
    return list;
}

/// True where what a task waits for is known to be done without that wait, too.
inline bool is_implied(const ts::plan& p, int task, std::size_t wait) {
    const std::vector<int> list = lists_of(p);
    const std::size_t lists = p.order.size();
    std::vector<int> clock(p.tasks.size() * lists, 0);
    for (int t = 0; t <= task; ++t) { // in the plan's order whatever a task waits for comes before it
        int* mine = clock.data() + ts::to_size(t) * lists;
        const auto join = [&](int other) {
            for (std::size_t k = 0; k < lists; ++k) {
                mine[k] = std::max(mine[k], clock[ts::to_size(other) * lists + k]);
            }
        };
        const ts::task& x = p.tasks[ts::to_size(t)];
        const std::vector<int>& own = p.order[ts::to_size(list[ts::to_size(t)])];
        if (x.position > 0) {
            join(own[ts::to_size(x.position) - 1]);
        }
        for (std::size_t w = 0; w < x.waits.size(); ++w) {
            if (x.waits[w].count > 0 && (t != task || w != wait)) {
                join(p.order[ts::to_size(x.waits[w].list)][ts::to_size(x.waits[w].count) - 1]);
            }
        }
        mine[list[ts::to_size(t)]] = t == task ? mine[list[ts::to_size(t)]] : x.position + 1;
    }
    const ts::wait_for& dropped = p.tasks[ts::to_size(task)].waits[wait];
    return clock[ts::to_size(task) * lists + ts::to_size(dropped.list)] >= dropped.count;
}

inline std::string text_of(const ts::plan& p, int task) {
    const ts::task& t = p.tasks[ts::to_size(task)];
    return " [" + std::string(ts::to_text(t.kind())) + " " + ts::to_text(t.what) + " of operator " +
           std::to_string(t.op) + ", shard " + std::to_string(t.shard_number) + ", micro-batch " +
           std::to_string(t.micro_batch) + "]";
}

/// Drops a wait that nothing else implies. Says of which task, or nothing where the plan has none.
inline std::string drop_a_wait(ts::plan& p, random& pick) {
    for (int tries = 0; tries < 20; ++tries) {
        const int t = pick(static_cast<int>(p.tasks.size()));
        std::vector<ts::wait_for>& waits = p.tasks[ts::to_size(t)].waits;
        if (waits.empty()) {
            continue;
        }
        const auto w = ts::to_size(pick(static_cast<int>(waits.size())));
        if (!is_implied(p, t, w)) {
            waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(w));
            return text_of(p, t);
        }
    }
    return "";
}

/// Swaps two neighbours in a device's list of which the second reads what the first writes, or writes what it reads.
inline std::string swap_dependent(ts::plan& p, random& pick) {
    std::vector<ts::access> first;
    std::vector<ts::access> second;
    for (int tries = 0; tries < 60; ++tries) {
        std::vector<int>& list = p.order[ts::to_size(pick(static_cast<int>(p.order.size())))];
        if (list.size() < 2) {
            continue;
        }
        const auto i = ts::to_size(pick(static_cast<int>(list.size()) - 1));
        ts::accesses_of(p, p.tasks[ts::to_size(list[i])], first);
        ts::accesses_of(p, p.tasks[ts::to_size(list[i + 1])], second);
        bool ordered = false;
        bool adds = false; // two that add to one sum may change places
        for (const ts::access& a : first) {
            for (const ts::access& b : second) {
                ordered = ordered || (ts::conflict(a, b) && a.write != b.write);
                adds = adds || (ts::conflict(a, b) && a.write && b.write);
            }
        }
        if (ordered && !adds) {
            std::swap(list[i], list[i + 1]);
            std::swap(p.tasks[ts::to_size(list[i])].position, p.tasks[ts::to_size(list[i + 1])].position);
            return text_of(p, list[i + 1]) + text_of(p, list[i]);
        }
    }
    return "";
}

/// True where a task's slice of what it writes has no elements: there are more slices than elements.
inline bool has_no_elements(const ts::plan& p, const ts::task& t) {
    const ts::tile& x = p.tiles[ts::to_size(t.writes[0])];
    return (t.params().slices > 1 && x.slices == 1
                ? ts::even_part(x.elements, t.params().slices, t.params().slice).size()
                : x.elements) == 0;
}

/// True where another task reads what a task writes, or it stays when the run has ended. (Of gradients that replicas of
/// a shard make alike, the others may take but one.)
inline bool is_needed(const ts::plan& p, int task) {
    if (p.tasks[ts::to_size(task)].params().parameter >= 0 && has_no_elements(p, p.tasks[ts::to_size(task)])) {
        return false;
    }
    for (const int w : p.tasks[ts::to_size(task)].writes) {
        const int root = p.root(w);
        if (p.tiles[ts::to_size(root)].keep || ts::is_persistent(p.tiles[ts::to_size(root)].kind)) {
            return true;
        }
        for (int t = 0; t < static_cast<int>(p.tasks.size()); ++t) {
            for (const int r : p.tasks[ts::to_size(t)].reads) {
                if (t != task && p.root(r) == root) {
                    return true;
                }
            }
        }
    }
    return false;
}

/// Removes a task as if it had never been planned: what waits for the tasks behind it counts one less.
inline std::string remove_a_task(ts::plan& p, random& pick) {
    int gone = pick(static_cast<int>(p.tasks.size()));
    while (!is_needed(p, gone)) {
        gone = (gone + 1) % static_cast<int>(p.tasks.size());
    }
    const std::string text = text_of(p, gone);
    lose_task(p, gone);
    return text;
}

/// A task that sums, updates or gathers reads something twice, forgets something, takes another's slice, or leaves a
/// copy out. Says of which task, or nothing where the plan has none.
inline std::string tamper_with_exchange(ts::plan& p, random& pick) {
    for (int tries = 0; tries < 60; ++tries) {
        const int i = pick(static_cast<int>(p.tasks.size()));
        ts::task& t = p.tasks[ts::to_size(i)];
        const int how = pick(4);
        if (t.params().parameter < 0 || has_no_elements(p, t)) {
            continue;
        }
        const char* what = nullptr;
        if (how == 0) {
            t.reads.push_back(t.reads[0]);
            what = ", one read twice";
        } else if (how == 1 && t.reads.size() > 1) {
            t.reads.pop_back();
            what = ", one not read";
        } else if (how == 2 && t.params().slices > 1) {
            t.mutable_params().slice = (t.params().slice + 1) % t.params().slices;
            what = ", another slice";
        } else if (how == 3 && t.writes.size() > 1) {
            t.writes.pop_back();
            what = ", one not written";
        }
        if (what != nullptr) {
            return text_of(p, i) + what;
        }
    }
    return "";
}

inline constexpr const char* mutations[] = {"a wait dropped", "two dependent tasks swapped", "a task removed",
                                            "an exchange tampered with"};
inline constexpr std::size_t mutation_kinds = 4;

/// What became of random schedules.
struct schedule_findings {
    counts_by_name verified; ///< by the schedule's name
    counts_by_name policies; ///< of the verified ones, by the synchronization policy's name
    counts_by_name refused;  ///< by rule
    std::array<int, mutation_kinds> tried{};
    std::array<counts_by_name, mutation_kinds> caught; ///< by rule, for every kind of mutation
    std::array<int, mutation_kinds> with_policy{};     ///< of those caught
    std::vector<std::string> wrong;                    ///< what should not be
};

/// One random schedule with a random policy, or none, for one step or two: planned and verified, or refused; then its
/// plan damaged in every way.
inline void try_schedule(const ts::graph_view& g, int devices, std::uint64_t seed, coverage& seen,
                         schedule_findings& found) {
    random pick{ts::op::mix(seed ^ 0x5c4ed01eULL)};
    pipeline_case c = random_pipeline(g, devices, seed, seen);
    c.how.overlap = pick(3) == 0;
    const bool any = pick(3) == 0;
    if (any) {
        c.how.follow(random_order(stages_after(g, c.how, c.stages), 1 + pick(4), c.how.micro_batches, pick));
        if (c.how.statistics == ts::statistics_over::mini_batch) {
            c.how.statistics = ts::statistics_over::micro_batch;
        }
        c.schedule = "any legal order";
    }
    const auto policies = small_policies(g, devices);
    const auto policy = ts::to_size(pick(static_cast<int>(policies.size()) + 4)); // some have none
    const bool synchronizes = policy < policies.size();
    if (synchronizes) {
        c.how.sync = policies[policy].second;
        c.how.steps_per_plan = 1 + (pick(6) == 0 ? 1 : 0);
    }
    const bool damaged = c.how.schedule.stages > 0 && pick(4) == 0;
    const std::string how = damaged ? damage(c.how.schedule, pick) : "sound";
    ts::plan p;
    try {
        p = planned(g, c.how, devices); // and verified
        found.verified.add(c.schedule);
        found.policies.add(synchronizes ? policies[policy].first : "every gradient by itself");
    } catch (const ts::error& e) {
        found.refused.add(rule_of(e.what()));
        if (!damaged) {
            found.wrong.push_back(std::to_string(seed) + ": a sound schedule is refused: " + e.what());
        }
        return;
    }
    if (how == "an action lost" || how == "an action doubled" || how == "an action of another micro-batch") {
        found.wrong.push_back(std::to_string(seed) + ": accepted with " + how);
    }
    for (std::size_t kind = 0; kind < mutation_kinds; ++kind) {
        ts::plan broken = p;
        const std::string where = kind == 0   ? drop_a_wait(broken, pick)
                                  : kind == 1 ? swap_dependent(broken, pick)
                                  : kind == 2 ? remove_a_task(broken, pick)
                                              : tamper_with_exchange(broken, pick);
        if (where.empty()) {
            continue;
        }
        ++found.tried[kind];
        const ts::verdict v = ts::verify(g, broken);
        if (v) {
            found.caught[kind].add(rule_of(v.text));
            found.with_policy[kind] += synchronizes ? 1 : 0;
        } else {
            found.wrong.push_back(std::to_string(seed) + ": not caught: " + mutations[kind] + where +
                                  (synchronizes ? ", " + policies[policy].first : ""));
        }
    }
}

} // namespace test_support
