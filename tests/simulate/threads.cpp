// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/threads.hpp"

#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_strategy.hpp"
#include "tessera/plan/isolate.hpp"
#include "tessera/schedule/p3.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/simulate/reuse.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

ts::plan planned(const ts::graph_view& g, const ts::strategy& s, int devices) {
    return test_support::planned(g, s, devices, {.update = ts::sgd{.momentum = 0.9F}});
}

ts::plan random_plan(const ts::graph_view& g, int devices, std::uint64_t seed) {
    test_support::coverage seen;
    return planned(g, test_support::random_strategy(g, devices, seed, seen), devices);
}

/// Two devices of one task each, without waits.
ts::plan two_tasks() {
    ts::plan p;
    p.devices = 2;
    p.tasks.resize(2);
    p.tasks[1].device = 1;
    p.order = {{0}, {1}};
    return p;
}

/// When every task starts and ends if all lists are walked nanosecond by nanosecond, each task at its full speed.
std::vector<sim::task_span> walked(const ts::plan& p, const std::vector<sim::thread_time>& times,
                                   const sim::thread_costs& costs) {
    std::vector<sim::task_span> span(p.tasks.size());
    std::vector<int> busy(p.order.size(), -1);
    std::vector<std::vector<int>> left = p.order;
    std::vector<index_t> free(p.order.size(), costs.hand_over);
    free[0] = costs.late;
    std::size_t done = 0;
    for (index_t now = 0; done < p.tasks.size() && now < 10'000'000; ++now) {
        for (std::size_t l = 0; l < busy.size(); ++l) {
            if (busy[l] >= 0 && now == span[ts::to_size(busy[l])].start + times[ts::to_size(busy[l])].alone) {
                span[ts::to_size(busy[l])].end = free[l] = now;
                busy[l] = -1;
                ++done;
            }
        }
        const auto may_start = [&](int which, std::size_t list) { // a task that has not ended ends at 0
            const ts::task& t = p.tasks[ts::to_size(which)];
            std::vector<int> before = t.after;
            for (const ts::wait_for& w : t.waits) {
                const std::vector<int>& other = p.order[ts::to_size(w.list)];
                before.insert(before.end(), other.begin(), other.begin() + w.count);
            }
            bool may = now >= free[list] + costs.dispatch;
            for (const int b : before) {
                const index_t end = span[ts::to_size(b)].end;
                may = may && end > 0 && (end <= free[list] || now >= end + costs.notice);
            }
            return may;
        };
        for (std::size_t l = 0; l < busy.size(); ++l) {
            int best = -1;
            for (const int t : left[l]) {
                const bool more_urgent =
                    best < 0 || p.tasks[ts::to_size(t)].priority < p.tasks[ts::to_size(best)].priority;
                best = more_urgent && may_start(t, l) ? t : best;
                if (!p.is_queue(static_cast<int>(l))) {
                    break;
                }
            }
            if (busy[l] < 0 && best >= 0) {
                busy[l] = best;
                span[ts::to_size(best)].start = now;
                left[l].erase(std::find(left[l].begin(), left[l].end(), best));
            }
        }
    }
    return span;
}

} // namespace

TEST_CASE("threads: where nothing presses, tasks start when their device and what they wait for have ended") {
    const ts::graph network = ts::describe<test_networks::residual_net::network>(8);
    const sim::thread_costs costs{.step = 900, .late = 30, .hand_over = 70, .dispatch = 3, .notice = 11};
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const int devices = 1 + static_cast<int>(seed % 3);
        test_support::coverage seen;
        ts::strategy s = test_support::random_strategy(network.view(), devices, seed, seen);
        s.overlap = seed % 2 == 0; // two threads for each device
        const ts::plan p = planned(network.view(), s, devices);
        std::vector<sim::thread_time> times;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const index_t alone = 5 + static_cast<index_t>(ts::op::mix(seed * 1000 + i) % 500);
            times.push_back({alone, alone});
        }
        const sim::timeline t = sim::simulate(p, times, costs);
        // The plan's order is one in which everything that a task waits for is before it.
        std::vector<index_t> end(p.tasks.size());
        std::vector<index_t> free(p.order.size(), costs.hand_over);
        free[0] = costs.late;
        index_t last = 0;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const auto d = ts::to_size(p.list_of(p.tasks[i]));
            index_t start = free[d] + costs.dispatch;
            for (const ts::wait_for& w : p.tasks[i].waits) {
                const int other = p.order[ts::to_size(w.list)][ts::to_size(w.count - 1)];
                const index_t done = end[ts::to_size(other)];
                start = done > free[d] ? std::max(start, done + costs.notice) : start;
            }
            REQUIRE(t.tasks[i].start == start);
            free[d] = end[i] = start + times[i].alone;
            REQUIRE(t.tasks[i].end == end[i]);
            last = std::max(last, end[i]);
        }
        CHECK(t.makespan == last + costs.step);
    }
}

TEST_CASE("threads: queues start what may start, the most urgent first") {
    const ts::graph network = ts::describe<test_networks::residual_net::network>(8);
    const sim::thread_costs costs{.step = 900, .late = 30, .hand_over = 70, .dispatch = 3, .notice = 11};
    int overtaken = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const int devices = 2 + static_cast<int>(seed % 2);
        const auto gradients = ts::schedule::gradients_of(network.view());
        const ts::plan p = planned(
            network.view(),
            test_support::data_parallel(network.view(), devices, ts::schedule::p3(gradients, {devices, 40})), devices);
        std::vector<sim::thread_time> times;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const index_t alone = 5 + static_cast<index_t>(ts::op::mix(seed * 1000 + i) % 100);
            times.push_back({alone, alone});
        }
        const sim::timeline t = sim::simulate(p, times, costs);
        const std::vector<sim::task_span> expected = walked(p, times, costs);
        index_t last = 0;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            REQUIRE(t.tasks[i].start == expected[i].start);
            REQUIRE(t.tasks[i].end == expected[i].end);
            last = std::max(last, expected[i].end);
        }
        CHECK(t.makespan == last + costs.step);
        for (std::size_t l = 0; l < p.order.size(); ++l) {
            for (std::size_t k = 1; k < p.order[l].size(); ++k) {
                const auto task = [&](std::size_t at) { return ts::to_size(p.order[l][at]); };
                overtaken += t.tasks[task(k)].start < t.tasks[task(k - 1)].start ? 1 : 0;
            }
        }
    }
    CHECK(overtaken > 0);
}

TEST_CASE("threads: two tasks that suffer slow each other down while both run, in proportion to what they suffer") {
    const ts::plan p = two_tasks();
    sim::thread_costs costs;
    costs.pressure = 500; // streaming beside streaming takes 1.5 times as long
    // Both stream through memory: both take 1.5 times as long.
    sim::timeline t = sim::simulate(p, {{100000, 150000}, {100000, 150000}}, costs);
    CHECK(t.makespan == doctest::Approx(150000).epsilon(0.001));
    // One that never touches memory neither suffers nor presses.
    t = sim::simulate(p, {{100000, 150000}, {80000, 80000}}, costs);
    CHECK(t.tasks[0].end == 100000);
    CHECK(t.tasks[1].end == 80000);
    // Half as sensitive: suffers half of half, presses half.
    t = sim::simulate(p, {{100000, 150000}, {1000000, 1250000}}, costs);
    CHECK(t.tasks[0].end == doctest::Approx(125000).epsilon(0.001));
    // Meanwhile the other got 125000 / 1.25 done; the rest is at full speed.
    CHECK(t.tasks[1].end == doctest::Approx(125000 + 900000).epsilon(0.001));
    // Two threads on one core take turns.
    costs.cores = 1;
    t = sim::simulate(p, {{100000, 100000}, {30000, 30000}}, costs);
    CHECK(std::abs(t.tasks[1].end - 60000) <= 1);
    CHECK(std::abs(t.tasks[0].end - 130000) <= 2);
    CHECK_THROWS_WITH_AS(sim::simulate(p, {{1, 1}}, costs), doctest::Contains("1 times were given for the 2 tasks"),
                         ts::error);
}

TEST_CASE("threads: what waits for a slow link keeps its own thread, and leaves cores and memory to others") {
    ts::plan p = two_tasks();
    sim::thread_costs costs;
    costs.pressure = 500;
    costs.cores = 1;
    sim::timeline t = sim::simulate(p, {{100000, 150000}, {100000, 150000, 100000}}, costs);
    CHECK(t.tasks[0].end == 100000);
    CHECK(t.tasks[1].start == 0); // its way is part of it
    CHECK(t.tasks[1].end == 200000);
    t = sim::simulate(p, {{100000, 100000}, {100000, 100000, 30000}}, costs); // they share the core when it has come
    CHECK(t.tasks[0].end == doctest::Approx(170000).epsilon(0.001));
    CHECK(t.tasks[1].end == doctest::Approx(200000).epsilon(0.001));
    p.tasks[1].device = 0;
    p.order = {{1, 0}, {}};
    t = sim::simulate(p, {{100000, 100000}, {10000, 10000, 50000}}, costs);
    CHECK(t.tasks[0].start == 60000);
}

TEST_CASE("threads: tasks that wait for each other are an error, not a hang") {
    ts::plan p = two_tasks();
    p.tasks[0].waits = {{1, 1}};
    p.tasks[1].waits = {{0, 1}};
    CHECK_THROWS_WITH_AS(sim::simulate(p, {{1, 1}, {1, 1}}, {}), doctest::Contains("2 of 2 tasks wait"), ts::error);
    p.tasks.resize(3); // one that has run before
    p.order = {{2, 0}, {1}};
    p.tasks[1].waits = {{0, 2}};
    CHECK_THROWS_WITH_AS(sim::simulate(p, {{1, 1}, {1, 1}, {1, 1}}, {}), doctest::Contains("2 of 3 tasks wait"),
                         ts::error);
}

TEST_CASE("reuse: distances and holders are those of a brute-force walk over every 4 bytes of memory") {
    const ts::graph network = ts::describe<test_networks::mlp::network>(4);
    int shared = 0;
    int theirs = 0;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const ts::plan p = random_plan(network.view(), 2, seed);
        const auto found = sim::reuse_of(p);
        struct touch {
            int device;
            bool write;
        };
        using word = std::pair<int, index_t>; // space, address
        std::vector<std::pair<word, touch>> stream;
        std::map<word, std::vector<std::size_t>> uses;
        const auto words = [&](const ts::access& a) {
            std::vector<word> all;
            const ts::tile& t = p.tiles[ts::to_size(a.tile)];
            const int space = t.device < 0 ? 100 + t.tensor : 2 * t.device + (ts::is_persistent(t.kind) ? 1 : 0);
            const index_t start = t.device < 0 ? 0 : t.offset;
            const bool state = t.kind == ts::tile_kind::optimizer_state;
            const index_t each = ts::bytes_of(t.type);
            for (index_t b = state ? 0 : a.elements.begin * each; b < (state ? t.bytes : a.elements.end * each);
                 b += 4) {
                all.push_back({space, start + b});
            }
            return all;
        };
        std::vector<ts::access> own;
        for (const bool second : {false, true}) {
            for (std::size_t i = 0; i < p.tasks.size(); ++i) {
                const int d = p.tasks[i].device;
                ts::accesses_of(p, p.tasks[i], own);
                for (std::size_t k = 0; second && i % 29 == seed && k < own.size();
                     ++k) { // a sample: sets of words are slow
                    const sim::reuse& r = found[i][k];
                    // All words of an access agree unless it was touched in stretches; then some word must match.
                    bool matches = false;
                    for (const word& w : words(own[k])) {
                        const std::vector<std::size_t>& past = uses[w];
                        std::set<word> since;
                        std::set<word> since_own;
                        std::size_t mine = 0;
                        bool known = false;
                        bool other_wrote = false;
                        bool other_used = false;
                        for (std::size_t u : past) {
                            if (stream[u].second.device == d) {
                                mine = u;
                                known = true;
                                other_wrote = other_used = false;
                            } else {
                                other_wrote = other_wrote || stream[u].second.write;
                                other_used = true;
                            }
                        }
                        for (std::size_t u = past.back(); u < stream.size(); ++u) {
                            since.insert(stream[u].first);
                        }
                        for (std::size_t u = mine; known && u < stream.size(); ++u) {
                            if (stream[u].second.device == d) {
                                since_own.insert(stream[u].first);
                            }
                        }
                        const sim::holder held = other_wrote                  ? sim::holder::theirs
                                                 : own[k].write && other_used ? sim::holder::shared
                                                                              : sim::holder::own;
                        // The access counts whole segments: what was touched with the word, up to the segment, is in
                        // doubt.
                        const auto all = static_cast<index_t>(4 * since.size());
                        const auto near = static_cast<index_t>(4 * (known ? since_own.size() : since.size()));
                        const index_t slack = 4 * static_cast<index_t>(words(own[k]).size()) + 4;
                        matches = matches || (r.held == held && r.all <= all && r.all + slack >= all && r.own <= near &&
                                              r.own + slack >= near);
                    }
                    REQUIRE(matches);
                    shared += r.held == sim::holder::shared ? 1 : 0;
                    theirs += r.held == sim::holder::theirs ? 1 : 0;
                }
                for (const ts::access& a : own) {
                    for (const word& w : words(a)) {
                        uses[w].push_back(stream.size());
                        stream.push_back({w, {d, a.write}});
                    }
                }
            }
        }
    }
    CHECK(shared > 0);
    CHECK(theirs > 0);
}

TEST_CASE("isolate: a task alone keeps all that it is, in memory where no two tiles overlap") {
    const ts::graph network = ts::describe<test_networks::residual_net::network>(8);
    const ts::plan p = random_plan(network.view(), 2, 7);
    std::vector<ts::access> before;
    std::vector<ts::access> after;
    CHECK_THROWS_AS((void)ts::isolate(p, static_cast<int>(p.tasks.size())), ts::error);
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        const ts::plan q = ts::isolate(p, i);
        const ts::task& t = p.tasks[ts::to_size(i)];
        REQUIRE(q.tasks.size() == 1);
        ts::accesses_of(p, t, before);
        ts::accesses_of(q, q.tasks[0], after);
        REQUIRE(before.size() == after.size());
        for (std::size_t k = 0; k < before.size(); ++k) {
            const ts::tile& a = p.tiles[ts::to_size(before[k].tile)];
            const ts::tile& b = q.tiles[ts::to_size(after[k].tile)];
            CHECK(a.region == b.region);
            CHECK(a.kind == b.kind);
            CHECK(a.device == b.device);
            CHECK(before[k].elements == after[k].elements);
            for (std::size_t l = 0; l < k; ++l) {
                const ts::tile& c = q.tiles[ts::to_size(after[l].tile)];
                const bool same_arena =
                    b.device >= 0 && c.device == b.device && ts::is_persistent(b.kind) == ts::is_persistent(c.kind);
                if (after[l].tile != after[k].tile && same_arena) {
                    CHECK((b.offset + b.bytes <= c.offset || c.offset + c.bytes <= b.offset));
                }
            }
        }
    }
}
