// SPDX-License-Identifier: Apache-2.0
// Timing on a clock that the tests turn, and the order statistics behind it.
#include "tessera/execute/measure/timing.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace {

namespace ts = tessera;

/// Time passes when something runs, and never otherwise.
struct turned_clock {
    std::int64_t* now;
    std::int64_t operator()() const { return *now; }
};

constexpr std::int64_t ms = 1'000'000;

TEST_CASE("what always takes the same is known after the least number of samples") {
    std::int64_t now = 0;
    int runs = 0;
    const auto what = [&] {
        now += 2 * ms;
        ++runs;
    };
    const ts::timing t = ts::time_interleaved({.warm_up = 4, .least = 10, .seconds = 100}, turned_clock{&now}, what)[0];
    CHECK(runs == 14);
    CHECK(t.samples == 10);
    CHECK(t.runs == 1);
    CHECK(t.precision == 0);
    for (const double seconds : {t.least, t.lower_quartile, t.median, t.upper_quartile}) {
        CHECK(seconds == doctest::Approx(2e-3));
    }
}

TEST_CASE("the quartiles are those of the samples, and the warm-up does not count") {
    std::int64_t now = 0;
    int run = 0;
    // 3 slow runs first; then 1, 2, ... 100 ms in an order that is not sorted.
    const auto what = [&] { now += run < 3 ? 1000 * ms : (((run - 3) * 37) % 100 + 1) * ms, ++run; };
    const ts::timing t =
        ts::time_interleaved({.warm_up = 3, .least = 100, .most = 100, .seconds = 1e6}, turned_clock{&now}, what)[0];
    CHECK(t.samples == 100);
    CHECK(t.least == doctest::Approx(1e-3));
    CHECK(t.lower_quartile == doctest::Approx(26e-3));
    CHECK(t.median == doctest::Approx(51e-3));
    CHECK(t.upper_quartile == doctest::Approx(76e-3));
    CHECK(t.precision == doctest::Approx((61 - 40) / 2.0 / 51)); // the 40th and the 61st of 100
    CHECK(t == ts::timing_of([] {
              std::vector<double> all;
              for (int i = 1; i <= 100; ++i) {
                  all.push_back(static_cast<double>(i * ms) * 1e-9);
              }
              return all;
          }()));
}

TEST_CASE("sampling ends when the precision is reached, and not before") {
    std::mt19937 random(5);
    for (const double wanted : {0.1, 0.03, 0.01}) {
        std::int64_t now = 0;
        const auto what = [&] { now += ms + static_cast<std::int64_t>(random() % static_cast<unsigned>(ms)); };
        const ts::timing t =
            ts::time_interleaved({.least = 6, .precision = wanted, .seconds = 1e6}, turned_clock{&now}, what)[0];
        CHECK(t.precision <= wanted);
        CHECK(t.samples < 100'000);
        // Of 1 to 2 ms, evenly: half of the interval is 0.98 / sqrt(n) of 1 ms, of a median of 1.5 ms.
        const double needed = std::pow(0.98 / 1.5 / wanted, 2);
        CHECK(t.samples > 0.3 * needed);
        CHECK(t.samples < 3 * needed + 10);
    }
}

TEST_CASE("when the time is over it ends, and says how well the median is known") {
    std::int64_t now = 0;
    int runs = 0;
    const auto slow = [&] { now += (runs++ % 2 == 0 ? 1000 : 3000) * ms; };
    const ts::timing t = ts::time_interleaved({.warm_up = 3, .least = 10, .seconds = 20}, turned_clock{&now}, slow)[0];
    CHECK(now >= 20'000 * ms);
    CHECK(now <= 23'000 * ms);
    CHECK(t.samples < 10);
    CHECK(t.precision > 0.01);
    // One sample there is always.
    now = 0;
    const ts::timing once = ts::time_interleaved({.seconds = 0.5}, turned_clock{&now}, slow)[0];
    CHECK(once.samples == 1);
    CHECK(std::isinf(once.precision));
    CHECK(once.median >= 1);
    // And never more than asked for.
    const auto noisy = [&] { now += (++runs % 7 + 1) * ms; };
    CHECK(ts::time_interleaved({.most = 23, .precision = 0, .seconds = 1e6}, turned_clock{&now}, noisy)[0].samples ==
          23);
}

TEST_CASE("what is short runs several times for one sample") {
    std::int64_t now = 0;
    std::int64_t runs = 0;
    const auto what = [&] {
        now += 300;
        ++runs;
    };
    const ts::timing t = ts::time_interleaved({.warm_up = 2, .least = 8, .seconds = 1, .sample_seconds = 3e-5},
                                              turned_clock{&now}, what)[0];
    CHECK(t.runs == 100);
    CHECK(t.median == doctest::Approx(300e-9));
    CHECK(runs == 2 + 8 * 100);
    const auto nothing = [] {};
    const ts::timing none = ts::time_interleaved({.most = 3}, turned_clock{&now}, nothing)[0];
    CHECK(none.median == 0);
    CHECK(none.runs == 20'000);
}

TEST_CASE("several things take turns, each sampled as often") {
    std::int64_t now = 0;
    std::vector<char> order;
    order.reserve(1000);
    const auto a = [&] {
        now += ms;
        order.push_back('a');
    };
    const auto b = [&] {
        now += 5 * ms;
        order.push_back('b');
    };
    const auto both = ts::time_interleaved({.warm_up = 1, .least = 10}, turned_clock{&now}, a, b);
    CHECK(both[0].samples == both[1].samples);
    CHECK(both[1].median == doctest::Approx(5 * both[0].median));
    for (std::size_t i = 2; i < order.size(); ++i) {
        CHECK(order[i] != order[i - 1]);
    }
}

/// Probability that fewer than k of n coins show heads.
double fewer(int n, int k) {
    double sum = 0;
    for (int i = 0; i < k; ++i) {
        sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) - n * std::log(2.0));
    }
    return sum;
}

TEST_CASE("the median's interval holds it with 95 %, by the binomial distribution, and is no wider than it must be") {
    for (int n = 0; n < 6; ++n) {
        CHECK(ts::detail::median_place(n) < 0);
    }
    for (int n = 6; n < 700; ++n) {
        const int place =
            ts::detail::median_place(n); // the median is above the sample at `place` unless so many are above it
        REQUIRE(place >= 0);
        REQUIRE(place <= (n - 1) / 2);
        CHECK(1 - 2 * fewer(n, place + 1) >= 0.949);
        CHECK(1 - 2 * fewer(n, place + 3) < 0.95);
    }
}

TEST_CASE("this machine's clock grows") {
    int runs = 0;
    const ts::timing t = ts::time_runs([&] { ++runs; }, {.most = 20, .seconds = 0.1});
    CHECK(t.samples > 0);
    CHECK(runs >= t.samples * t.runs);
    CHECK(t.median >= 0);
}

} // namespace
