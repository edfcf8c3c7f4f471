// SPDX-License-Identifier: Apache-2.0
// Kernels that are made of expressions, on every instruction set: each function against the standard library's in
// double, gradients against the reference, at ordinary numbers and at those that are special.
#include "op/differences.hpp"
#include "support/instruction_sets.hpp"

#include "tessera/backend/host/kernels/expression.hpp"
#include "tessera/backend/reference/op/expression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

using namespace tests;

namespace {

namespace k = ts::host::kernels;
using test_support::on_every_instruction_set;
using ts::expression::formula;
using ts::expression::value;

/// What the formula says, in double.
double exact(const formula& f, int which, const double* leaves) {
    ts::reference::detail::formula_loop<double> loop(f, which);
    return *loop(1, [&](int leaf, double* to) { *to = leaves[leaf]; });
}

/// How far a float is off, in parts of what it should be and a bit more; infinite where one is NaN and the other is
/// not.
double error_of(float found, double expected) {
    if (std::isnan(expected) || std::isinf(static_cast<float>(expected))) {
        const auto rounded = static_cast<float>(expected);
        return std::isnan(rounded) ? (std::isnan(found) ? 0 : HUGE_VAL) : found == rounded ? 0 : HUGE_VAL;
    }
    const double off = std::abs(static_cast<double>(found) - expected);
    return std::isnan(off) ? HUGE_VAL : off / (0.25 + std::abs(expected));
}

std::vector<float> numbers_between(float low, float high, bool with_special) {
    std::mt19937 engine{5};
    std::uniform_real_distribution<float> draw{low, high};
    std::vector<float> x(203);
    for (float& v : x) {
        v = draw(engine);
    }
    if (with_special) {
        const float infinity = std::numeric_limits<float>::infinity();
        const float special[] = {0,     -0.0F, 1e-20F, -1e-20F, 88,  -88, 200,      -200,
                                 0.34F, 0.36F, -0.35F, 1e-40F,  2e9, 1e5, infinity, -infinity};
        for (std::size_t i = 0; i < std::size(special); ++i) {
            x[i * 11] = special[i];
        }
        x[201] = std::numeric_limits<float>::quiet_NaN();
    }
    return x;
}

/// The result, and the gradient of each input.
template <const formula& F>
void check_formula(float low, float high, double allowed, bool with_special = true) {
    const std::vector<float> x = numbers_between(low, high, with_special);
    std::vector<float> z(x.rbegin(), x.rend());
    const std::vector<float> dy = numbers_between(-1, 1, false);
    std::vector<float> y(x.size());
    const auto each = [&](int which, const std::vector<float>& found) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            double leaves[4] = {static_cast<double>(x[i])};
            leaves[F.inputs - 1] = static_cast<double>(F.inputs == 1 ? x[i] : z[i]);
            leaves[F.inputs] = static_cast<double>(y[i]);
            leaves[F.inputs + 1] = static_cast<double>(dy[i]);
            CAPTURE(x[i]);
            CAPTURE(i);
            CAPTURE(found[i]);
            CAPTURE(exact(F, which, leaves));
            CHECK(error_of(found[i], exact(F, which, leaves)) <= allowed);
        }
    };
    for (const std::size_t count : {x.size(), std::size_t{1}, std::size_t{16}, std::size_t{19}}) {
        on_every_instruction_set([&] {
            const float* from[4] = {x.data(), z.data()};
            from[F.inputs] = y.data();
            from[F.inputs + 1] = dy.data();
            std::vector<float> out(x.size() + 1, 7);
            k::run_formula<F, -1>(from, out.data(), static_cast<std::ptrdiff_t>(count));
            CHECK(out[count] == 7); // nothing is written behind the end
            if (count < x.size()) {
                return;
            }
            y.assign(out.begin(), out.end() - 1);
            each(-1, y);
            k::run_formula<F, 0>(from, out.data(), static_cast<std::ptrdiff_t>(count));
            each(0, out);
            if constexpr (F.inputs == 2) {
                k::run_formula<F, 1>(from, out.data(), static_cast<std::ptrdiff_t>(count));
                each(1, out);
            }
        });
    }
}

// FORMULA(name, expression of x)
// clang-format off
#define FORMULAS(FORMULA) \
    FORMULA(rectified, ts::expression::relu(x)) \
    FORMULA(hyperbolic, ts::expression::tanh(x)) \
    FORMULA(logistic, ts::expression::sigmoid(x)) \
    FORMULA(bell, x * normal(x)) \
    FORMULA(swish, x * ts::expression::sigmoid(x)) \
    FORMULA(exponential, exp(x)) \
    FORMULA(logarithm, log(x)) \
    FORMULA(root, sqrt(x)) \
    FORMULA(error_function, erf(x)) \
    FORMULA(soft_plus, softplus(x)) \
    FORMULA(size, abs(x) + sign(x)) \
    FORMULA(whole, floor(x)) \
    FORMULA(sine, sin(x)) \
    FORMULA(cosine, cos(x)) \
    FORMULA(power, pow(abs(x) + 0.5, 1.3)) \
    FORMULA(polynomial, 3 * x * x - x / 2 + 1) \
    FORMULA(clamped, clamp(x, -2, 3)) \
    FORMULA(chosen, select(x < 1 && x != -1, -x, x - 3)) \
    FORMULA(stepped, straight_through(floor(x), x) * stop_gradient(x))
// clang-format on
#define FORMULA(name, of_x) constexpr formula name##_formula = ts::expression::trace([](value x) { return of_x; });
FORMULAS(FORMULA)
#undef FORMULA
constexpr formula larger_formula = ts::expression::trace([](value a, value b) { return max(a, b); });
constexpr formula smaller_formula = ts::expression::trace([](value a, value b) { return min(a, b); });
constexpr formula quotient_formula = ts::expression::trace([](value a, value b) { return a / (1 + abs(b)) - b; });

} // namespace

TEST_CASE("kernels of expressions compute what the expressions say, on every instruction set") {
#define FORMULA(name, of_x)                                                                                            \
    {                                                                                                                  \
        INFO(#name);                                                                                                   \
        check_formula<name##_formula>(-8, 8, 3e-6);                                                                    \
    }
    FORMULAS(FORMULA)
#undef FORMULA
    check_formula<larger_formula>(-8, 8, 3e-6);
    check_formula<smaller_formula>(-8, 8, 3e-6);
    check_formula<quotient_formula>(-8, 8, 3e-6);
    check_formula<sine_formula>(-8000, 8000, 3e-6);
    check_formula<logarithm_formula>(0, 1e30F, 3e-6);
    check_formula<exponential_formula>(-87, 88, 3e-6);
}

TEST_CASE("kernels of losses take one number as the gradient of all that they make") {
    const auto check = [](const auto of) {
        constexpr const formula& f = ts::detail::loss_formula_of<typename decltype(of)::type>;
        const std::vector<float> x = numbers_between(-6, 6, true);
        const std::vector<float> target = numbers_between(0, 1, false);
        const float scale = 0.375F;
        on_every_instruction_set([&] {
            const float* from[] = {x.data(), target.data(), nullptr, &scale};
            std::vector<float> out(x.size() + 1, 7);
            const auto held = [&](int which) {
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const double leaves[] = {static_cast<double>(x[i]), static_cast<double>(target[i]), 0, 0.375};
                    CAPTURE(which);
                    CAPTURE(x[i]);
                    CHECK(error_of(out[i], exact(f, which, leaves)) <= 3e-6);
                }
                CHECK(out[x.size()] == 7);
            };
            const auto count = static_cast<std::ptrdiff_t>(x.size());
            k::run_formula<f, -1>(from, out.data(), count);
            held(-1);
            k::run_formula<f, 0>(from, out.data(), count);
            held(0);
            k::run_formula<f, 1>(from, out.data(), count);
            held(1);
        });
    };
    check(std::type_identity<ts::mse_loss>{});
    check(std::type_identity<ts::l1_loss>{});
    check(std::type_identity<ts::huber_loss<1.5>>{});
    check(std::type_identity<ts::bce_with_logits>{});
    check(std::type_identity<ts::kl_divergence>{});
}
