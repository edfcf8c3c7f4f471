// SPDX-License-Identifier: Apache-2.0
// Optimizer steps against numbers worked out by hand.
#include "tessera/backend/reference/update.hpp"

#include "support/own_optimizers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace ts = tessera;

TEST_CASE("SGD with momentum and weight decay, three steps by hand") {
    const ts::optimizer how = ts::sgd{.momentum = 0.5F, .weight_decay = 0.25F};
    REQUIRE(how.state_count() == 1);
    std::array<double, 1> w{2};
    std::array<double, 1> v{0};
    const std::array<double, 1> g{1};
    ts::reference::update<double>(how, {0, 0, 0.1}, 1, w, g, v); // v = 1 + 0.25 * 2 = 1.5
    CHECK(w[0] == doctest::Approx(1.85).epsilon(1e-14));
    ts::reference::update<double>(how, {0, 1, 0.1}, 1, w, g, v); // v = 0.75 + 1 + 0.25 * 1.85 = 2.2125
    CHECK(w[0] == doctest::Approx(1.62875).epsilon(1e-14));
    ts::reference::update<double>(how, {0, 2, 1.0}, 0, w, g, v); // v = 1.10625 + 0 + 0.25 * 1.62875; a larger rate
    CHECK(w[0] == doctest::Approx(1.62875 - 1.5134375).epsilon(1e-14));
}

TEST_CASE("plain SGD keeps no state") {
    const ts::optimizer how = ts::sgd{};
    CHECK(how.state_count() == 0);
    std::array<float, 2> w{1, -1};
    const std::array<float, 2> g{2, 4};
    ts::reference::update<float>(how, {0, 0, 0.5}, 0.5, w, g, {});
    CHECK(w == std::array<float, 2>{0.5F, -2});
}

TEST_CASE(
    "Adam's first step is the learning rate against the sign of the gradient, and its second follows the moments") {
    const ts::optimizer how = ts::adam{};
    REQUIRE(how.state_count() == 2);
    std::array<double, 2> w{1, 1};
    std::array<double, 4> moments{};
    const std::array<double, 2> g{3, -0.01};
    ts::reference::update<double>(how, {0, 0, 0.1}, 1, w, g, moments);
    CHECK(w[0] == doctest::Approx(0.9).epsilon(1e-6));
    CHECK(w[1] == doctest::Approx(1.1).epsilon(1e-5));
    const std::array<double, 2> other{-3, -0.01};
    const double before = w[0];
    ts::reference::update<double>(how, {0, 1, 0.1}, 1, w, other, moments);
    // m = 0.9 * 0.3 - 0.3 = -0.03, corrected by 0.19; v = 9 after correction.
    CHECK(w[0] - before == doctest::Approx(0.1 * (0.03 / 0.19) / 3).epsilon(1e-5));
    CHECK(w[1] == doctest::Approx(1.2).epsilon(1e-5));
}

TEST_CASE("clipping scales gradients down to the norm, and never up") {
    ts::optimizer how = ts::sgd{};
    CHECK(ts::clip_factor(how, 100) == 1);
    how.clip_norm = 2;
    CHECK(ts::clip_factor(how, 8) == doctest::Approx(0.25).epsilon(1e-6));
    CHECK(ts::clip_factor(how, 1) == 1);
    CHECK(ts::clip_factor(how, 0) == 1);
}

TEST_CASE("every optimizer's steps are those of its algorithm, for random weights and gradients") {
    test_support::random pick{5};
    const auto number = [&] { return static_cast<double>(pick(2001) - 1000) / 500; };
    auto all = test_support::all_optimizers();
    for (const auto& x : test_support::layerwise_optimizers()) {
        all.push_back(x);
    }
    for (const auto& of_name : all) {
        const auto& name = of_name.first; // clang 14 captures no structured binding
        const auto& how = of_name.second;
        CAPTURE(name);
        constexpr std::size_t count = 40;
        std::vector<double> w(count);
        std::vector<double> states(count * ts::to_size(how.state_count()));
        std::vector<test_support::own_state> own(count);
        for (double& x : w) {
            x = number();
        }
        std::vector<double> expected = w;
        for (int t = 1; t <= 6; ++t) {
            const double rate = 0.1 / t;
            std::vector<double> g(count);
            std::vector<double> halves(count);
            for (std::size_t i = 0; i < count; ++i) {
                g[i] = number();
                halves[i] = g[i] * 0.5;
            }
            const double trust = test_support::own_trust(how, expected, halves, t, own);
            for (std::size_t i = 0; i < count; ++i) {
                expected[i] = test_support::own_step(how, expected[i], halves[i], rate, t, own[i], trust);
            }
            const ts::run_state run{0, static_cast<std::uint64_t>(t - 1), rate};
            double scaled_by = 1;
            if (how.is_layerwise()) { // in two parts, as of two shards, which leave out each other's elements
                ts::reference::layer_squares sum;
                for (const bool even : {false, true}) {
                    const auto part = ts::reference::squares_of<double>(
                        how, run, 0.5, w, g, states, [&](std::size_t i) { return (i % 2 == 0) == even; });
                    sum.weights += part.weights;
                    sum.measured += part.measured;
                }
                scaled_by = ts::reference::trust_of(how, sum);
                CHECK(scaled_by == doctest::Approx(trust).epsilon(1e-12));
                CHECK(scaled_by != 1);
            }
            CHECK(ts::reference::update<double>(how, run, 0.5, w, g, states, scaled_by));
            for (std::size_t i = 0; i < count; ++i) {
                CHECK(w[i] == doctest::Approx(expected[i]).epsilon(1e-12));
            }
        }
    }
}

TEST_CASE("LARS and LAMB, a step by hand, and a ratio of 1 where a norm is 0") {
    const std::vector<double> w{3, 4};
    const std::vector<double> g{0.6, -0.8};
    const auto all = [](std::size_t) { return true; };
    const ts::optimizer lars =
        ts::lars{.momentum = 0, .weight_decay = 0.5F, .trust_coefficient = 0.25F, .epsilon = 0.5F};
    auto squares = ts::reference::squares_of<double>(lars, {0, 0, 0.1}, 1, w, g, std::span<const double>(), all);
    CHECK(squares.weights == doctest::Approx(25));
    CHECK(squares.measured == doctest::Approx(1));
    const double trust = ts::reference::trust_of(lars, squares); // 0.25 * 5 / (1 + 0.5 * 5 + 0.5)
    CHECK(trust == doctest::Approx(0.3125).epsilon(1e-14));
    std::vector<double> moved = w;
    ts::reference::update<double>(lars, {0, 0, 0.1}, 1, moved, g, {}, trust);
    CHECK(moved[0] == doctest::Approx(3 - 0.1 * 0.3125 * (0.6 + 0.5 * 3)).epsilon(1e-14));
    CHECK(moved[1] == doctest::Approx(4 - 0.1 * 0.3125 * (-0.8 + 0.5 * 4)).epsilon(1e-14));

    const ts::optimizer lamb = ts::lamb{.epsilon = 1e-12F, .weight_decay = 0.5F};
    std::vector<double> moments(4);
    squares = ts::reference::squares_of<double>(lamb, {0, 0, 0.1}, 1, w, g, moments, all);
    CHECK(squares.measured == doctest::Approx(2.5 * 2.5 + 1)); // 1 + 0.5 * 3 and -1 + 0.5 * 4
    moved = w;
    ts::reference::update<double>(lamb, {0, 0, 0.1}, 1, moved, g, moments, ts::reference::trust_of(lamb, squares));
    CHECK(moved[0] == doctest::Approx(3 - 0.1 * 5 / std::sqrt(7.25) * 2.5).epsilon(1e-9));
    CHECK(moved[1] == doctest::Approx(4 - 0.1 * 5 / std::sqrt(7.25)).epsilon(1e-9));

    for (const ts::optimizer& how : {lars, lamb}) {
        CHECK(ts::reference::trust_of(how, {0, 1}) == 1);
        CHECK(ts::reference::trust_of(how, {1, 0}) == 1);
        CHECK(ts::reference::trust_of(how, {1, 4}) != 1);
    }
}
