// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate/schedule.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

std::vector<int> in_order(const std::vector<sim::activity>& items) {
    std::vector<int> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
}

sim::schedule simulate(const std::vector<sim::activity>& items, int devices, int lanes) {
    sim::schedule s;
    sim::scheduler(devices, lanes).run(items, in_order(items), s);
    return s;
}

/// The same by letting time pass nanosecond by nanosecond: queues in front of lanes, first come first served.
std::vector<index_t> tick_by_tick(const std::vector<sim::activity>& items, int devices, int lanes) {
    const std::size_t n = items.size();
    std::vector<index_t> start(n, -1);
    std::vector<std::vector<int>> queue(ts::to_size(lanes));
    std::vector<index_t> free_at(ts::to_size(lanes), 0);
    std::vector<char> queued(n, 0);
    std::vector<std::vector<int>> list(ts::to_size(devices));
    for (std::size_t i = 0; i < n; ++i) {
        if (items[i].device >= 0) {
            list[ts::to_size(items[i].device)].push_back(static_cast<int>(i));
        }
    }
    std::size_t started = 0;
    for (index_t now = 0; started < n; ++now) {
        const auto ended = [&](int a) {
            const auto i = ts::to_size(a);
            return start[i] >= 0 && start[i] + items[i].duration <= now;
        };
        for (std::size_t i = 0; i < n; ++i) { // who becomes ready joins the queues, lower numbers first
            bool ready = queued[i] == 0;
            for (int before : items[i].after) {
                ready = ready && ended(before);
            }
            if (items[i].device >= 0) {
                for (int before : list[ts::to_size(items[i].device)]) {
                    ready = ready && (before >= static_cast<int>(i) || ended(before));
                }
            }
            if (ready) {
                queued[i] = 1;
                for (const sim::lane_use& u : items[i].lanes) {
                    queue[ts::to_size(u.lane)].push_back(static_cast<int>(i));
                }
            }
        }
        for (bool again = true; again;) { // lanes that are busy for 0 ns pass on at once
            again = false;
            for (std::size_t i = 0; i < n; ++i) {
                bool go = queued[i] != 0 && start[i] < 0;
                for (const sim::lane_use& u : items[i].lanes) {
                    const auto l = ts::to_size(u.lane);
                    go = go && !queue[l].empty() && queue[l].front() == static_cast<int>(i) && free_at[l] <= now;
                }
                if (go) {
                    start[i] = now;
                    ++started;
                    again = true;
                    for (const sim::lane_use& u : items[i].lanes) {
                        const auto l = ts::to_size(u.lane);
                        queue[l].erase(queue[l].begin());
                        free_at[l] = now + u.busy;
                    }
                }
            }
        }
    }
    return start;
}

std::vector<sim::activity> random_activities(std::mt19937& random, int count, int devices, int lanes) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<sim::activity> items;
    for (int i = 0; i < count; ++i) {
        sim::activity a;
        a.duration = 1 + below(6);
        a.device = below(2) == 0 ? below(devices) : -1;
        for (int l = 0; l < lanes; ++l) {
            if (below(3) == 0) {
                a.lanes.push_back({l, below(7)});
            }
        }
        for (int k = below(4); k > 0 && i > 0; --k) {
            a.after.push_back(below(i));
        }
        items.push_back(a);
    }
    return items;
}

} // namespace

TEST_CASE("schedule: a chain takes the sum of its durations") {
    std::vector<sim::activity> items;
    index_t sum = 0;
    for (int i = 0; i < 10; ++i) {
        items.push_back({i % 3, 5 + i, {}, i > 0 ? std::vector<int>{i - 1} : std::vector<int>{}});
        sum += 5 + i;
    }
    CHECK(simulate(items, 3, 0).makespan == sum);
}

TEST_CASE("schedule: two devices and one link") {
    // Device 0 computes 10, sends for 4 (twice), device 1 computes 7 on each; computation hides the second transfer.
    const std::vector<sim::activity> items{
        {0, 10, {}, {}}, {-1, 4, {{0, 4}}, {0}}, {-1, 4, {{0, 4}}, {0}}, {1, 7, {}, {1}}, {1, 7, {}, {2}}};
    const sim::schedule s = simulate(items, 2, 1);
    CHECK(s.start == std::vector<index_t>{0, 10, 14, 14, 21});
    CHECK(s.makespan == 28);
}

TEST_CASE("schedule: a lane serves in order of readiness, ties by the given order, and holds up what also needs "
          "another lane") {
    const std::vector<sim::activity> items{{-1, 5, {{0, 5}}, {}}, {-1, 3, {{0, 3}, {1, 3}}, {}}, {-1, 2, {{1, 2}}, {}}};
    CHECK(simulate(items, 0, 2).start == std::vector<index_t>{0, 5, 8});
}

TEST_CASE("schedule: equals a simulation that lets time pass tick by tick") {
    std::mt19937 random(3);
    for (int trial = 0; trial < 600; ++trial) {
        const int devices = 1 + static_cast<int>(random() % 3);
        const int lanes = 1 + static_cast<int>(random() % 4);
        const auto items = random_activities(random, 2 + static_cast<int>(random() % 40), devices, lanes);
        REQUIRE(simulate(items, devices, lanes).start == tick_by_tick(items, devices, lanes));
    }
}

TEST_CASE("schedule: going on after any unchanged beginning gives the same") {
    std::mt19937 random(4);
    for (int trial = 0; trial < 200; ++trial) {
        const auto items = random_activities(random, 40, 2, 3);
        const sim::schedule whole = simulate(items, 2, 3);
        sim::schedule s = whole;
        sim::scheduler again(2, 3);
        again.run(items, in_order(items), s, random() % items.size());
        REQUIRE(s.start == whole.start);
        REQUIRE(s.sequence == whole.sequence);
        REQUIRE(s.makespan == whole.makespan);
    }
}

TEST_CASE("schedule: of activities with priorities that wait for a lane the most urgent goes next") {
    // The lane is busy when two more become ready; the later one is more urgent. What has no priority comes first,
    // first served.
    const std::vector<sim::activity> items{{-1, 10, {{0, 10}}, {}, 5},
                                           {-1, 1, {}, {}},
                                           {-1, 2, {}, {}},
                                           {-1, 4, {{0, 4}}, {1}, 3},
                                           {-1, 4, {{0, 4}}, {2}, 1}};
    CHECK(simulate(items, 0, 1).start == std::vector<index_t>{0, 0, 0, 14, 10});

    std::mt19937 random(6);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int overtaken = 0;
    for (int trial = 0; trial < 300; ++trial) {
        const int lanes = 1 + below(3);
        std::vector<sim::activity> all;
        const int count = 5 + below(30);
        for (int i = 0; i < count; ++i) { // each after a delay of its own
            all.push_back({-1, 1 + below(40), {}, {}});
        }
        for (int i = 0; i < count; ++i) {
            sim::activity a{-1, 1 + below(6), {}, {i}, below(8)};
            const int first = below(lanes);
            a.lanes.push_back({first, a.duration});
            if (lanes > 1 && below(3) == 0) {
                a.lanes.push_back({(first + 1) % lanes, a.duration});
            }
            all.push_back(a);
        }
        const sim::schedule s = simulate(all, 0, lanes);
        // By definition: letting time pass, whatever is ready and finds its lanes free starts, the most urgent first.
        std::vector<index_t> start(all.size(), -1);
        std::vector<index_t> free_at(ts::to_size(lanes), 0);
        std::size_t left = ts::to_size(count);
        for (index_t now = 0; left > 0; ++now) {
            for (bool again = true; again;) {
                again = false;
                std::size_t best = 0;
                for (std::size_t i = ts::to_size(count); i < all.size(); ++i) {
                    bool can = start[i] < 0 && all[i - ts::to_size(count)].duration <= now;
                    for (const sim::lane_use& u : all[i].lanes) {
                        can = can && free_at[ts::to_size(u.lane)] <= now;
                    }
                    best = can && (best == 0 || all[i].priority < all[best].priority) ? i : best;
                }
                if (best > 0) {
                    again = true;
                    start[best] = now;
                    --left;
                    for (const sim::lane_use& u : all[best].lanes) {
                        free_at[ts::to_size(u.lane)] = now + u.busy;
                    }
                }
            }
        }
        for (std::size_t i = ts::to_size(count); i < all.size(); ++i) {
            if (lanes == 1) { // with several lanes one that waits for two may lose its turn either way
                REQUIRE(s.start[i] == start[i]);
            }
            REQUIRE(s.start[i] >= s.ready[i]);
            for (std::size_t j = ts::to_size(count); j < i; ++j) {
                for (const sim::lane_use& u : all[i].lanes) {
                    for (const sim::lane_use& v : all[j].lanes) {
                        const bool apart = s.end[i] <= s.start[j] || s.end[j] <= s.start[i];
                        REQUIRE((u.lane != v.lane || apart));
                    }
                }
                overtaken += s.ready[i] < s.ready[j] && s.start[i] > s.start[j] ? 1 : 0;
            }
        }
    }
    CHECK(overtaken > 100);
}

TEST_CASE("schedule: a circle is refused") {
    const std::vector<sim::activity> items{{-1, 1, {}, {1}}, {-1, 1, {}, {0}}, {-1, 1, {}, {}}};
    sim::schedule s;
    CHECK_THROWS_WITH_AS(
        sim::scheduler(0, 0).run(items, in_order(items), s),
        "tessera: 2 of 3 activities wait for each other; a plan that verify() accepts has no such circle", ts::error);
}

TEST_CASE("what uses a lane meanwhile does not wait for it, and what comes next waits so much longer") {
    std::vector<sim::activity> items(4);
    items[0] = {-1, 10, {{0, 10}}, {}};
    items[1] = {-1, 6, {{0, 3, true}, {1, 6}}, {}}; // beside the first; the lane is behind by 3
    items[2] = {-1, 5, {{0, 5}}, {0}};
    items[3] = {-1, 4, {{0, 2, true}}, {2}}; // of a lane that is free: from its own beginning on
    const sim::schedule s = simulate(items, 0, 2);
    CHECK(s.start == std::vector<index_t>{0, 0, 13, 18});
    CHECK(s.makespan == 22);
}
