// SPDX-License-Identifier: Apache-2.0
// Balanced stages against every possible cut.
#include "tessera/schedule/stages.hpp"

#include "support/random_strategy.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace {

namespace ts = tessera;
using ts::index_t;

index_t slowest(const std::vector<index_t>& times, const std::vector<int>& stage) {
    std::vector<index_t> sum(times.size(), 0);
    for (std::size_t i = 0; i < times.size(); ++i) {
        sum[ts::to_size(stage[i])] += times[i];
    }
    return *std::max_element(sum.begin(), sum.end());
}

/// The slowest stage of the best of all cuts, each a set of places as bits.
index_t best_of_all(const std::vector<index_t>& times, int stages) {
    index_t best = -1;
    const auto places = static_cast<unsigned>(times.size() - 1);
    for (unsigned cuts = 0; cuts < (1U << places); ++cuts) {
        std::vector<int> stage(times.size(), 0);
        for (std::size_t i = 1; i < times.size(); ++i) {
            stage[i] = stage[i - 1] + static_cast<int>((cuts >> (i - 1)) & 1U);
        }
        if (stage.back() + 1 == stages) {
            const index_t t = slowest(times, stage);
            best = best < 0 || t < best ? t : best;
        }
    }
    return best;
}

using ts::schedule::operator_load;
using ts::schedule::stage_room;

/// The best of all cuts that fit: its slowest stage (-1: none fits), and the memory with which a cut would.
std::pair<index_t, index_t> best_in_memory(const std::vector<operator_load>& loads,
                                           const std::vector<stage_room>& rooms) {
    std::pair<index_t, index_t> best{-1, -1};
    const std::size_t n = loads.size();
    for (unsigned cuts = 0; cuts < (1U << (n - 1)); ++cuts) {
        std::vector<std::size_t> begin{0};
        for (std::size_t i = 1; i < n; ++i) {
            if (((cuts >> (i - 1)) & 1U) != 0) {
                begin.push_back(i);
            }
        }
        if (begin.size() != rooms.size()) {
            continue;
        }
        index_t slowest = 0;
        index_t most = 0;
        bool fits = true;
        for (std::size_t s = 0; s < rooms.size(); ++s) {
            operator_load sum;
            for (std::size_t i = begin[s]; i < (s + 1 < begin.size() ? begin[s + 1] : n); ++i) {
                sum = {sum.time + loads[i].time, sum.resident_bytes + loads[i].resident_bytes,
                       sum.activation_bytes + loads[i].activation_bytes};
            }
            const stage_room& r = rooms[s];
            const index_t bytes =
                sum.resident_bytes / r.resident_parts + sum.activation_bytes / r.devices * r.in_flight;
            slowest = std::max(slowest, sum.time / r.devices);
            most = std::max(most, bytes);
            fits = fits && (r.bytes == 0 || bytes <= r.bytes);
        }
        best.first = fits && (best.first < 0 || slowest < best.first) ? slowest : best.first;
        best.second = best.second < 0 || most < best.second ? most : best.second;
    }
    return best;
}

/// What a cut needs and how long its slowest stage takes.
std::pair<index_t, index_t> of_cut(const std::vector<operator_load>& loads, const std::vector<stage_room>& rooms,
                                   const std::vector<int>& stage) {
    std::vector<operator_load> sum(rooms.size());
    for (std::size_t i = 0; i < loads.size(); ++i) {
        operator_load& s = sum[ts::to_size(stage[i])];
        s = {s.time + loads[i].time, s.resident_bytes + loads[i].resident_bytes,
             s.activation_bytes + loads[i].activation_bytes};
    }
    std::pair<index_t, index_t> worst{0, 0};
    for (std::size_t s = 0; s < rooms.size(); ++s) {
        const stage_room& r = rooms[s];
        worst.first = std::max(worst.first, sum[s].time / r.devices);
        const index_t bytes =
            sum[s].resident_bytes / r.resident_parts + sum[s].activation_bytes / r.devices * r.in_flight;
        worst.second = std::max(worst.second, bytes);
        CHECK((r.bytes == 0 || bytes <= r.bytes));
    }
    return worst;
}

} // namespace

TEST_CASE("stages balanced within their devices' memory are the best of all cuts that fit, or none does") {
    test_support::random pick{6};
    int fitted = 0;
    int tight = 0;
    for (int i = 0; i < 400; ++i) {
        std::vector<operator_load> loads;
        const int n = 1 + pick(9);
        for (int k = 0; k < n; ++k) {
            loads.push_back({pick(100), pick(3) == 0 ? 0 : pick(50), pick(20)});
        }
        const int stages = 1 + pick(std::min(n, 4));
        std::vector<stage_room> rooms;
        for (int s = 0; s < stages; ++s) { // 1F1B keeps fewer micro-batches in later stages
            const int devices = 1 + pick(2);
            rooms.push_back({pick(6) == 0 ? 0 : 20 + pick(300), stages - s, devices, pick(2) == 0 ? devices : 1});
        }
        const ts::schedule::balanced_stages found = ts::schedule::balance_stages(loads, rooms);
        const auto [slowest, least] = best_in_memory(loads, rooms);
        CHECK(found.stage.empty() == (slowest < 0));
        CHECK(found.least_bytes == least);
        if (slowest >= 0) {
            CHECK(found.slowest == slowest);
            CHECK(of_cut(loads, rooms, found.stage).first == slowest);
            ++fitted;
            std::vector<stage_room> unlimited = rooms;
            for (stage_room& r : unlimited) {
                r.bytes = 0;
            }
            tight += ts::schedule::balance_stages(loads, unlimited).slowest < slowest ? 1 : 0;
            CHECK(of_cut(loads, unlimited, found.leanest).second == least);
        }
    }
    CHECK(fitted > 200);
    CHECK(fitted < 400);
    CHECK(tight > 20); // where memory alone decides on the cut
}

TEST_CASE("balanced stages are as fast as the best of all cuts, and none is empty") {
    test_support::random pick{5};
    for (int i = 0; i < 300; ++i) {
        std::vector<index_t> times;
        const int n = 1 + pick(11);
        for (int k = 0; k < n; ++k) {
            times.push_back(pick(4) == 0 ? 0 : pick(100));
        }
        const int stages = 1 + pick(n);
        const std::vector<int> stage = ts::schedule::balance_stages(times, stages);
        CHECK(slowest(times, stage) == best_of_all(times, stages));
        CHECK(stage.front() == 0);
        CHECK(stage.back() == stages - 1);
        for (std::size_t k = 1; k < stage.size(); ++k) {
            CHECK((stage[k] == stage[k - 1] || stage[k] == stage[k - 1] + 1));
        }
    }
    CHECK(ts::schedule::balance_stages({1, 1, 1, 1, 4}, 3) == std::vector<int>{0, 0, 1, 1, 2});
}

TEST_CASE("stages that cannot be are refused") {
    const auto message = [](const std::vector<index_t>& times, int stages) {
        return test_support::message_of([&] { (void)ts::schedule::balance_stages(times, stages); });
    };
    using test_support::text_of_rule;
    using ts::rule;
    CHECK(message({1, 2}, 3) == text_of_rule(rule::more_stages_than_operators, 3, 2));
    CHECK(message({1, 2}, 0) == text_of_rule(rule::pipeline_is_empty, 0, 1));
    const auto room = [](int in_flight, int devices, int parts) {
        return test_support::message_of([&] {
            (void)ts::schedule::balance_stages({{1, 1, 1}}, {{0, in_flight, devices, parts}});
        });
    };
    CHECK(room(1, 0, 1) == text_of_rule(rule::stage_without_devices, 0, 1)); // each bad number by itself
    CHECK(room(1, 1, -1) == text_of_rule(rule::stage_without_devices, -1, 1));
    CHECK(room(-1, 1, 1) == text_of_rule(rule::load_is_negative, -1, 0));
    CHECK(room(0, 1, 1) == "accepted");
    CHECK(ts::schedule::balance_stages({{1, 1, 1}}, {{1, 0, 1, 1}}).slowest == 1); // nothing of a micro-batch is kept
    CHECK(message({1, -2}, 1) == text_of_rule(rule::load_is_negative, -2, 0, "operator 1, "));
}
