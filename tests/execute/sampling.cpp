// SPDX-License-Identifier: Apache-2.0
// The choice of the next token: against its definition by brute force, and by frequencies.
#include "tessera/execute/sampling.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

namespace ts = tessera;
using ts::sampling;

std::vector<float> random_logits(std::uint64_t seed, int count) {
    std::vector<float> all;
    for (int i = 0; i < count; ++i) { // few different ones, so that some are equal
        all.push_back(static_cast<float>(ts::op::mix(seed + static_cast<std::uint64_t>(i)) % 9) / 2 - 2);
    }
    return all;
}

/// The probability of every token, from the definition: rank by rank.
std::vector<double> probabilities(const std::vector<float>& z, const sampling& how) {
    const std::size_t n = z.size();
    const auto rank = [&](std::size_t i) {
        std::size_t before = 0;
        for (std::size_t k = 0; k < n; ++k) {
            before += z[k] > z[i] || (z[k] == z[i] && k < i) ? 1 : 0;
        }
        return before;
    };
    std::vector<double> p(n);
    double all = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const bool stays = how.top_k == 0 || rank(i) < static_cast<std::size_t>(how.top_k);
        p[i] = stays ? std::exp(static_cast<double>(z[i]) / how.temperature) : 0;
        all += p[i];
    }
    std::vector<double> kept(n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double before = 0; // of those ahead of it
        for (std::size_t k = 0; k < n; ++k) {
            before += rank(k) < rank(i) ? p[k] / all : 0;
        }
        kept[i] = before < how.top_p - 1e-12 ? p[i] : 0;
        sum += kept[i];
    }
    for (double& x : kept) {
        x /= sum;
    }
    return kept;
}

const sampling ways[] = {
    {.temperature = 1},
    {.temperature = 0.5},
    {.temperature = 3, .top_k = 4},
    {.temperature = 1, .top_k = 1},
    {.temperature = 1, .top_p = 0.6},
    {.temperature = 2, .top_k = 7, .top_p = 0.8},
    {.temperature = 1, .top_k = 100, .top_p = 1e-9},
};

} // namespace

TEST_CASE("greedy takes the largest logit, of equal ones the first") {
    CHECK(ts::next_token(std::vector<float>{1, 3, 2}, {}, 0.9) == 1);
    CHECK(ts::next_token(std::vector<float>{1, 3, 3, -5}, {}, 0.9) == 1);
    CHECK(ts::next_token(std::vector<float>{-4}, {}, 0) == 0);
}

TEST_CASE("every draw takes the token that the definition gives it, and shares are exact") {
    constexpr int draws = 4000;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<float> z = random_logits(seed * 100, 3 + static_cast<int>(seed));
        for (const sampling& how : ways) {
            const std::vector<double> right = probabilities(z, how);
            std::vector<int> count(z.size());
            for (int i = 0; i < draws; ++i) {
                ++count[static_cast<std::size_t>(ts::next_token(z, how, (i + 0.5) / draws))];
            }
            for (std::size_t k = 0; k < z.size(); ++k) {
                CAPTURE(k);
                CHECK(std::abs(count[k] - right[k] * draws) <= 1.01);
                CHECK((right[k] > 0 || count[k] == 0));
            }
        }
    }
}

TEST_CASE("draws are as likely as the definition says, and differ by seed, sequence and place") {
    constexpr int draws = 20000;
    const std::vector<float> z = random_logits(5, 12);
    for (const sampling& how : ways) {
        const std::vector<double> right = probabilities(z, how);
        std::vector<int> count(z.size());
        for (std::uint64_t i = 0; i < draws; ++i) {
            ++count[static_cast<std::size_t>(ts::next_token(z, how, ts::draw_of(3, i % 100, i / 100)))];
        }
        double chi_square = 0;
        for (std::size_t k = 0; k < z.size(); ++k) {
            const double expected = right[k] * draws;
            chi_square += expected > 0 ? (count[k] - expected) * (count[k] - expected) / expected : 0;
        }
        CHECK(chi_square < 50); // of at most 11 degrees of freedom: by chance once in a million times
    }
    CHECK(ts::draw_of(1, 2, 3) == ts::draw_of(1, 2, 3));
    CHECK(ts::draw_of(1, 2, 3) != ts::draw_of(2, 2, 3));
    CHECK(ts::draw_of(1, 2, 3) != ts::draw_of(1, 3, 3));
    CHECK(ts::draw_of(1, 2, 3) != ts::draw_of(1, 2, 4));
    CHECK(ts::draw_of(1, 2, 3) < 1);
}

TEST_CASE("a token of no probability is never drawn, and logits that are not finite are refused") {
    const float far = -std::numeric_limits<float>::infinity();
    for (int i = 0; i < 100; ++i) {
        CHECK(ts::next_token(std::vector<float>{far, 1, far, 2}, {.temperature = 1}, i / 100.0 + 0.00999) % 2 == 1);
    }
    CHECK(ts::next_token(std::vector<float>{far, 1, far}, {.temperature = 1}, 0.9999999999) == 1);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto said = [](const std::vector<float>& z) {
        return test_support::message_of([&] { static_cast<void>(ts::next_token(z, {}, 0)); });
    };
    CHECK(test_support::contains(said({1, nan}), "the logit of token 1 is NaN"));
    CHECK(test_support::contains(said({1, -far}), "infinite"));
    CHECK(test_support::contains(said({far, far}), "infinite"));
    CHECK(test_support::contains(said({}), "there is none"));
}
