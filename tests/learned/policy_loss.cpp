// SPDX-License-Identifier: Apache-2.0
// The policy-gradient loss and its gradient against their formulas, and the size of Placeto's policy.
#include "tessera/learned/policy_loss.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/learned/placeto_network.hpp"
#include "tessera/search/random_numbers.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ts = tessera;
namespace tl = tessera::learned;

struct given;
struct coefficients;
struct bonuses;
struct dense : ts::linear<3, ts::no_bias> {};
struct logits;
struct loss;
struct network : ts::dag<ts::input<given, ts::features<2>>, ts::input<coefficients, ts::features<3>>,
                         ts::input<bonuses, ts::features<1>>, ts::node<logits, dense, given>,
                         ts::node<loss, tl::policy_loss, logits, coefficients, bonuses>> {};
constexpr std::size_t rows = 5;

/// The loss of rows whose logits are w x, in double.
double formula(const std::vector<double>& w, const std::vector<float>& x, const std::vector<float>& c,
               const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t r = 0; r < rows; ++r) {
        double z[3];
        double all = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            z[d] = w[2 * d] * static_cast<double>(x[2 * r]) + w[2 * d + 1] * static_cast<double>(x[2 * r + 1]);
            all += std::exp(z[d]);
        }
        for (std::size_t d = 0; d < 3; ++d) {
            const double log_p = z[d] - std::log(all);
            sum -= static_cast<double>(c[3 * r + d]) * log_p - static_cast<double>(b[r]) * std::exp(log_p) * log_p;
        }
    }
    return sum / rows;
}

} // namespace

TEST_CASE("the policy's loss and its gradient equal the formula, entropy bonus included") {
    ts::search::random_numbers pick{11};
    const auto numbers = [&](std::size_t n) {
        std::vector<float> all(n);
        for (float& x : all) {
            x = static_cast<float>(2 * pick.number() - 1);
        }
        return all;
    };
    for (const bool bonus : {false, true}) {
        ts::trainer<network, ts::reference::backend> t(ts::local_devices(1),
                                                       ts::strategy(ts::describe<network>(rows).view()), rows,
                                                       ts::optimizer(ts::sgd{.learning_rate = 1.0F}), {.seed = 3});
        const std::vector<float> x = numbers(2 * rows);
        const std::vector<float> c = numbers(3 * rows);
        const std::vector<float> b = bonus ? numbers(rows) : std::vector<float>(rows, 0);
        const std::vector<float> before = t.values().parameter(0);
        std::vector<double> w(before.begin(), before.end());
        const std::vector<ts::input_data> inputs{std::span<const float>(x), std::span<const float>(c),
                                                 std::span<const float>(b)};
        const auto seen = static_cast<double>(t.step(std::span<const ts::input_data>(inputs)));
        CHECK(seen == doctest::Approx(formula(w, x, c, b)).epsilon(1e-5));
        const std::vector<float> after = t.values().parameter(0);
        for (std::size_t i = 0; i < w.size(); ++i) {
            const double here = w[i];
            w[i] = here + 1e-5;
            const double above = formula(w, x, c, b);
            w[i] = here - 1e-5;
            const double below = formula(w, x, c, b);
            w[i] = here;
            const double gradient = (above - below) / 2e-5;
            CHECK(static_cast<double>(before[i] - after[i]) == doctest::Approx(gradient).epsilon(1e-3));
        }
    }
}

TEST_CASE("Placeto's policy has as many parameters as the authors' with a feature less") {
    constexpr auto count = [](auto shape) {
        const ts::graph g = ts::describe<tl::placeto_network<decltype(shape)::value>>(1);
        ts::index_t all = 0;
        for (const ts::parameter_node& p : g.parameters) {
            all += p.extents.volume();
        }
        return all;
    };
    // 32,414 for four devices and 10 features, derived from their layers; here the start time in the schedule is left
    // out.
    constexpr tl::placeto_shape four{.nodes = 8, .edges = 8, .devices = 4, .width = 10, .rounds = 1};
    CHECK(count(std::integral_constant<tl::placeto_shape, four>()) == 32'414 - four.width);
}
