// SPDX-License-Identifier: Apache-2.0
// Optimizer steps against numbers worked out by hand.
#include "tessera/backend/reference/update.hpp"

#include <doctest/doctest.h>

#include <array>

namespace ts = tessera;

TEST_CASE("SGD with momentum and weight decay, three steps by hand") {
    const ts::optimizer how = ts::sgd{.momentum = 0.5F, .weight_decay = 0.25F};
    REQUIRE(how.state_count() == 1);
    std::array<double, 1> w{2};
    std::array<double, 1> v{0};
    const std::array<double, 1> g{1};
    ts::reference::update<double>(how, {0, 0, 0.1}, 1, w, g, v, {}); // v = 1 + 0.25 * 2 = 1.5
    CHECK(w[0] == doctest::Approx(1.85).epsilon(1e-14));
    ts::reference::update<double>(how, {0, 1, 0.1}, 1, w, g, v, {}); // v = 0.75 + 1 + 0.25 * 1.85 = 2.2125
    CHECK(w[0] == doctest::Approx(1.62875).epsilon(1e-14));
    ts::reference::update<double>(how, {0, 2, 1.0}, 0, w, g, v, {}); // v = 1.10625 + 0 + 0.25 * 1.62875; a larger rate
    CHECK(w[0] == doctest::Approx(1.62875 - 1.5134375).epsilon(1e-14));
}

TEST_CASE("plain SGD keeps no state") {
    const ts::optimizer how = ts::sgd{};
    CHECK(how.state_count() == 0);
    std::array<float, 2> w{1, -1};
    const std::array<float, 2> g{2, 4};
    ts::reference::update<float>(how, {0, 0, 0.5}, 0.5, w, g, {}, {});
    CHECK(w == std::array<float, 2>{0.5F, -2});
}

TEST_CASE(
    "Adam's first step is the learning rate against the sign of the gradient, and its second follows the moments") {
    const ts::optimizer how = ts::adam{};
    REQUIRE(how.state_count() == 2);
    std::array<double, 2> w{1, 1};
    std::array<double, 2> m{};
    std::array<double, 2> v{};
    const std::array<double, 2> g{3, -0.01};
    ts::reference::update<double>(how, {0, 0, 0.1}, 1, w, g, m, v);
    CHECK(w[0] == doctest::Approx(0.9).epsilon(1e-6));
    CHECK(w[1] == doctest::Approx(1.1).epsilon(1e-5));
    const std::array<double, 2> other{-3, -0.01};
    const double before = w[0];
    ts::reference::update<double>(how, {0, 1, 0.1}, 1, w, other, m, v);
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
