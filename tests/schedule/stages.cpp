// SPDX-License-Identifier: Apache-2.0
// Balanced stages against every possible cut.
#include "tessera/schedule/stages.hpp"

#include "support/random_strategy.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using ts::index_t;

index_t slowest(const std::vector<index_t>& times, const std::vector<int>& stage) {
    std::vector<index_t> sum(times.size(), 0);
    for (std::size_t i = 0; i < times.size(); ++i) {
        sum[static_cast<std::size_t>(stage[i])] += times[i];
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

} // namespace

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
    CHECK(message({1, 2}, 3) == "tessera: 2 operators make no 3 stages; every stage needs one");
    CHECK(message({1, 2}, 0) == "tessera: 2 operators make no 0 stages; every stage needs one");
    CHECK(message({1, -2}, 1) == "tessera: operator 1 takes -2; a time is at least 0");
}
