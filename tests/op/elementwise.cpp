// SPDX-License-Identifier: Apache-2.0
// Element-wise operators at numbers where they are special, and numbers as template arguments.
#include "op/harness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

using namespace tests;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct result_of_one {
    double value;
    double gradient;
};

/// Forward and, with a gradient of `dy`, backward of one number.
template <class Operator>
result_of_one at_number(double x, double dy = 1) {
    const op_case c{"one number", Operator::attributes, {ts::make_shape(1, 1)}};
    op_instance op(c);
    op.value[0].numbers[0] = x;
    op.gradient[1].numbers[0] = dy;
    op.forward();
    op.backward();
    return {op.value[1].numbers[0], op.gradient[0].numbers[0]};
}
template <class Operator>
double value_at(double x) {
    return at_number<Operator>(x).value;
}
template <class Operator>
double slope_at(double x) {
    return at_number<Operator>(x).gradient;
}

template <class Operator>
std::array<double, 3> of_two(double x, double y) {
    const op_case c{"two numbers", Operator::attributes, {ts::make_shape(1, 1), ts::make_shape(1, 1)}};
    op_instance op(c);
    op.value[0].numbers[0] = x;
    op.value[1].numbers[0] = y;
    op.gradient[2].numbers[0] = 1;
    op.forward();
    op.backward();
    return {op.value[2].numbers[0], op.gradient[0].numbers[0], op.gradient[1].numbers[0]};
}

} // namespace

TEST_CASE("what is not a number stays none, whichever the operator") {
    CHECK(std::isnan(value_at<ts::leaky_relu<>>(no_number)));
    CHECK(std::isnan(value_at<ts::elu<>>(no_number)));
    CHECK(std::isnan(value_at<ts::hard_sigmoid>(no_number)));
    CHECK(std::isnan(value_at<ts::hard_swish>(no_number)));
    CHECK(std::isnan(value_at<ts::softplus>(no_number)));
    CHECK(std::isnan(value_at<ts::exp>(no_number)));
    CHECK(std::isnan(value_at<ts::log>(no_number)));
    CHECK(std::isnan(value_at<ts::sqrt>(no_number)));
    CHECK(std::isnan(value_at<ts::power<3>>(no_number)));
    CHECK(std::isnan(value_at<ts::abs>(no_number)));
    CHECK(std::isnan(value_at<ts::clamp<-1, 1>>(no_number)));
    CHECK(std::isnan(value_at<ts::negate>(no_number)));
    CHECK(std::isnan(value_at<ts::scale<0>>(no_number)));
    CHECK(std::isnan(value_at<ts::add_constant<1>>(no_number)));
    CHECK(std::isnan(value_at<ts::stop_gradient>(no_number)));
    CHECK(std::isnan(value_at<ts::straight_through_round>(no_number)));
    for (const auto& [x, y] : {std::pair{no_number, 1.0}, {1.0, no_number}}) {
        CHECK(std::isnan(of_two<ts::subtract>(x, y)[0]));
        CHECK(std::isnan(of_two<ts::divide>(x, y)[0]));
        CHECK(std::isnan(of_two<ts::minimum>(x, y)[0]));
        CHECK(std::isnan(of_two<ts::maximum>(x, y)[0]));
    }
}

TEST_CASE("infinities have the limits as values and as slopes") {
    CHECK(value_at<ts::leaky_relu<0.5>>(-infinity) == -infinity);
    CHECK(value_at<ts::elu<2>>(-infinity) == -2);
    CHECK(slope_at<ts::elu<2>>(-infinity) == 0);
    CHECK(value_at<ts::elu<>>(infinity) == infinity);
    CHECK(slope_at<ts::elu<>>(infinity) == 1);
    CHECK(value_at<ts::hard_sigmoid>(infinity) == 1);
    CHECK(value_at<ts::hard_sigmoid>(-infinity) == 0);
    CHECK(value_at<ts::hard_swish>(infinity) == infinity);
    CHECK(value_at<ts::hard_swish>(-infinity) == 0); // and not -infinity * 0
    CHECK(slope_at<ts::hard_swish>(-infinity) == 0);
    CHECK(value_at<ts::softplus>(infinity) == infinity);
    CHECK(value_at<ts::softplus>(-infinity) == 0);
    CHECK(slope_at<ts::softplus>(infinity) == 1);
    CHECK(value_at<ts::exp>(-infinity) == 0);
    CHECK(value_at<ts::log>(0) == -infinity);
    CHECK(std::isnan(value_at<ts::log>(-1)));
    CHECK(std::isnan(value_at<ts::sqrt>(-1)));
    CHECK(slope_at<ts::sqrt>(0) == infinity);
    CHECK(value_at<ts::abs>(-infinity) == infinity);
    CHECK(value_at<ts::clamp<-1, 1>>(-infinity) == -1);
    CHECK(slope_at<ts::clamp<-1, 1>>(infinity) == 0);
    CHECK(value_at<ts::straight_through_round>(-infinity) == -infinity);
    CHECK(of_two<ts::divide>(1, infinity)[0] == 0);
    CHECK(of_two<ts::minimum>(infinity, 1) == std::array{1.0, 0.0, 1.0});
    CHECK(of_two<ts::maximum>(infinity, 1) == std::array{infinity, 1.0, 0.0});
    // A gradient that is not finite stays out of what is not chosen.
    CHECK(at_number<ts::clamp<-1, 1>>(2, infinity).gradient == 0);
    CHECK(at_number<ts::hard_swish>(-4, no_number).gradient == 0);
    CHECK(at_number<ts::stop_gradient>(2, no_number).gradient == 0);
}

TEST_CASE("slopes at kinks are PyTorch's, and of equal numbers the first has the gradient") {
    CHECK(slope_at<ts::leaky_relu<0.25>>(-1) == 0.25);
    CHECK(slope_at<ts::abs>(0) == 0);
    CHECK(slope_at<ts::clamp<-1, 1>>(1) == 1);
    CHECK(slope_at<ts::hard_sigmoid>(3) == 0);
    CHECK(slope_at<ts::hard_sigmoid>(-3) == 0);
    CHECK(slope_at<ts::hard_swish>(-3) == 0);
    CHECK(slope_at<ts::hard_swish>(3) == 1);
    CHECK(of_two<ts::minimum>(2, 2) == std::array{2.0, 1.0, 0.0});
    CHECK(of_two<ts::maximum>(2, 2) == std::array{2.0, 1.0, 0.0});
}

TEST_CASE("elu loses nothing where x is small, in single precision neither") {
    using ts::expression::the_result;
    ts::reference::detail::formula_loop<float> loop(ts::op::elu_formula, the_result, ts::elu<3>::attributes);
    for (const float x : {-1e-20F, -1e-9F, -1e-4F, -0.01F, -0.7F, -3.0F, -30.0F}) {
        const float y = *loop(1, [x](int, float* to) { *to = x; });
        CHECK(y == doctest::Approx(3 * std::expm1(static_cast<double>(x))).epsilon(4e-7).scale(0));
    }
}

TEST_CASE("rounding takes the even one of two, also where halves are the last bits") {
    for (const double x :
         {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 4503599627370495.5, 1e300, -7.3, 7.8}) {
        CHECK(value_at<ts::straight_through_round>(x) == std::nearbyint(x));
        CHECK(slope_at<ts::straight_through_round>(x) == 1);
    }
}

TEST_CASE("numbers as template arguments are the doubles that they are written as") {
    static_assert(ts::number(0.1).value() == 0.1);
    static_assert(ts::number(0.1).digits == 1 && ts::number(0.1).places == 1);
    static_assert(ts::number(-2).digits == -2 && ts::number(-2).places == 0);
    static_assert(ts::number(1.0 / 3).value() == 1.0 / 3);
    static_assert(ts::number(1e300).value() == 1e300);
    static_assert(ts::number(5e-324).value() == 5e-324);
    static_assert(ts::number(0.1F).value() == static_cast<double>(0.1F));
    static_assert(ts::number(std::numeric_limits<double>::infinity()).value() == infinity);
    static_assert(ts::number(0.30000000000000004).value() == 0.30000000000000004);
    static_assert(std::is_same_v<ts::scale<2>, ts::scale<2.0>>);
    static_assert(!std::is_same_v<ts::scale<0.1>, ts::scale<0.1F>>);
    CHECK(std::signbit(ts::number(-0.0).value()));
    random_numbers random{7};
    for (int i = 0; i < 2000; ++i) {
        const auto bits = static_cast<std::int64_t>(random() << 33U ^ random() << 2U ^ random());
        const double x = __builtin_bit_cast(double, bits);
        CHECK(__builtin_bit_cast(std::int64_t, ts::number(x).value()) == bits);
    }
    CHECK(ts::leaky_relu<>::attributes == ts::leaky_relu<0.01>::attributes);
    CHECK(!(ts::leaky_relu<>::attributes == ts::leaky_relu<0.02>::attributes));
}
