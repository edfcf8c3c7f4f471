// SPDX-License-Identifier: Apache-2.0
// Expressions: every function against the standard library's, gradients against differences, what backward reads, and
// what is special.
#include "op/differences.hpp"
#include "tessera/op/expression/record.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tests;

namespace {

// FUNCTION(name, expression of x, the same in double)
// clang-format off
#define FUNCTIONS(FUNCTION) \
    FUNCTION(polynomial, 3 * x * x - x / 2 + 1, 3 * x * x - x / 2 + 1) \
    FUNCTION(negative, -(-x) * -1, -x) \
    FUNCTION(softsign, x / (1 + abs(x)), x / (1 + std::abs(x))) \
    FUNCTION(e_to, exp(2 * x), std::exp(2 * x)) \
    FUNCTION(logarithm, log(x + 2), std::log(x + 2)) \
    FUNCTION(root, sqrt(x + 2), std::sqrt(x + 2)) \
    FUNCTION(inverse_root, rsqrt(x + 2), 1 / std::sqrt(x + 2)) \
    FUNCTION(cube, pow(x, 3), x * x * x) \
    FUNCTION(inverse_cube, pow(x + 3, -3), 1 / ((x + 3) * (x + 3) * (x + 3))) \
    FUNCTION(power, pow(x + 2, 1.7), std::pow(x + 2, 1.7)) \
    FUNCTION(power_of_itself, pow(x + 2, x), std::pow(x + 2, x)) \
    FUNCTION(signed_square, sign(x) * square(x), (x > 0 ? 1 : -1) * x * x) \
    FUNCTION(smaller, min(x, -0.5f * x), std::fmin(x, -0.5 * x)) \
    FUNCTION(larger, max(-x, 2 * x), std::fmax(-x, 2 * x)) \
    FUNCTION(clamped, clamp(x, -0.0101, 0.0103), std::fmin(std::fmax(x, -0.0101), 0.0103)) \
    FUNCTION(chosen, select(x < 0.0101 && !(x == 7), exp(x), 1 / (x + 1)), x < 0.0101 ? std::exp(x) : 1 / (x + 1)) \
    FUNCTION(chosen_outside, select(x <= -0.0101 || x >= 0.0103, x * x, x), std::abs(x) > 0.0102 ? x * x : x) \
    FUNCTION(hyperbolic, tanh(x + 0.3), std::tanh(x + 0.3)) \
    FUNCTION(logistic, 2 * sigmoid(x), 2 / (1 + std::exp(-x))) \
    FUNCTION(error_function, erf(x), std::erf(x)) \
    FUNCTION(distribution, normal(3 * x), 0.5 * std::erfc(-3 * x * std::sqrt(0.5))) \
    FUNCTION(sine, sin(3 * x), std::sin(3 * x)) \
    FUNCTION(cosine, x * cos(3 * x), x * std::cos(3 * x)) \
    FUNCTION(stepped, x * floor(19 * x + 0.37), x * std::floor(19 * x + 0.37)) \
    FUNCTION(rectified, relu(x) * relu(x + 1), std::fmax(x, 0) * std::fmax(x + 1, 0)) \
    FUNCTION(soft_plus, softplus(3 * x), std::log(1 + std::exp(3 * x))) \
    FUNCTION(mish, x * tanh(softplus(x)), x * std::tanh(std::log(1 + std::exp(x))))
// clang-format on

#define FUNCTION(name, expression_of_x, in_double)                                                                     \
    struct name : ts::elementwise<name> {                                                                              \
        static constexpr auto of(auto x) { return expression_of_x; }                                                   \
        static double expected(double x) { return in_double; }                                                         \
    };
FUNCTIONS(FUNCTION)
#undef FUNCTION

struct with_two : ts::elementwise<with_two> {
    static constexpr const char* name = "with_two";
    static constexpr auto of(auto a, auto b) { return a * sigmoid(b) - b / (2 + a); }
};
struct with_three : ts::elementwise<with_three> {
    static constexpr auto of(auto a, auto b, auto c) { return a * b + select(a < b + 0.0013, c, 2 * c); }
};
struct with_four : ts::elementwise<with_four> {
    static constexpr auto of(auto a, auto b, auto c, auto d) { return (a - d) * (b + c * d); }
};
struct average : ts::elementwise<average> {
    static constexpr auto of(auto a, auto b) { return 0.5 * a + b / 2; }
};
struct rounded : ts::elementwise<rounded> {
    static constexpr auto of(auto x) { return straight_through(floor(10 * x), 3 * x); }
};
struct half_stopped : ts::elementwise<half_stopped> {
    static constexpr auto of(auto x) { return x * stop_gradient(x); }
};
template <int Percent>
struct leaky : ts::elementwise<leaky<Percent>> {
    static constexpr auto of(auto x) { return max(x, 0.01 * Percent * x); }
};
/// A function of one's own in an expression.
constexpr auto twice(auto x) { return x + x * exp(0 * x); }
struct calls : ts::elementwise<calls> {
    static constexpr auto of(auto x) { return twice(x); }
};

template <class Operator>
const ts::expression::formula& formula_of() {
    return *Operator::attributes.kind.record->formula;
}

template <class Operator>
op_case row(int inputs = 1) {
    return {ts::record_of(Operator::attributes).name, Operator::attributes,
            std::vector<ts::shape>(ts::to_size(inputs), ts::make_shape(4, 9))};
}

template <class Function>
void check_function() {
    CAPTURE(std::string(ts::record_of(Function::attributes).name));
    const op_case c = row<Function>();
    check_gradients(c);
    op_instance op(c);
    op.forward();
    for (std::size_t i = 0; i < op.value[0].numbers.size(); ++i) {
        CHECK(op.value[1].numbers[i] == doctest::Approx(Function::expected(op.value[0].numbers[i])).epsilon(1e-12));
    }
}

/// Forward and, with a gradient of 1, backward of one number.
template <class Operator>
std::pair<double, double> at_number(double x) {
    const op_case c{"one number", Operator::attributes, {ts::make_shape(1, 1)}};
    op_instance op(c);
    op.value[0].numbers[0] = x;
    op.gradient[1].numbers[0] = 1;
    op.forward();
    op.backward();
    return {op.value[1].numbers[0], op.gradient[0].numbers[0]};
}

} // namespace

TEST_CASE("functions of expressions are those of the standard library, and their gradients are derivatives") {
#define FUNCTION(name, expression_of_x, in_double) check_function<name>();
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    check_gradients(row<with_two>(2));
    check_gradients(row<with_three>(3));
    check_gradients(row<with_four>(4));
    check_gradients(row<average>(2));
    check_gradients(row<leaky<20>>());
    check_gradients(row<calls>());
}

TEST_CASE("the gradient of a straight-through value is that of its second argument, and none flows through a stop") {
    CHECK(at_number<rounded>(0.37) == std::pair{3.0, 3.0});
    CHECK(at_number<half_stopped>(3) == std::pair{9.0, 3.0});
}

TEST_CASE("backward reads the result where that alone will do, else the inputs that it needs") {
    using ts::bit;
    const auto reads = [](const ts::expression::formula& f, int input = 0) { return f.reads[input]; };
    CHECK(reads(ts::op::relu_formula) == bit(1));
    CHECK(reads(ts::op::sigmoid_formula) == bit(1));
    CHECK(reads(ts::op::tanh_formula) == bit(1));
    CHECK(reads(ts::expression::trace([](ts::expression::value x) { return exp(x); })) == bit(1));
    CHECK(reads(ts::op::gelu_formula) == bit(0));
    CHECK(reads(ts::op::silu_formula) == bit(0));
    CHECK(reads(formula_of<softsign>()) == bit(0));
    CHECK(reads(ts::op::add_formula) == 0);
    CHECK(reads(ts::op::multiply_formula, 0) == bit(1));
    CHECK(reads(ts::op::multiply_formula, 1) == bit(0));
    CHECK(reads(formula_of<with_three>(), 2) == (bit(0) | bit(1)));
    CHECK(reads(formula_of<average>(), 0) == 0);
}

TEST_CASE("costs, linearity and passed gradients follow from an expression") {
    CHECK(ts::op::relu_formula.flops == 1);
    CHECK(ts::op::gelu_formula.flops == 12);
    CHECK(ts::op::silu_formula.flops == 11);
    CHECK(ts::op::add_formula.linear);
    CHECK(ts::op::add_formula.passes_gradient);
    CHECK(formula_of<average>().linear);
    CHECK(!formula_of<average>().passes_gradient);
    CHECK(!ts::op::multiply_formula.linear);
    CHECK(!formula_of<polynomial>().linear);
    CHECK(!ts::op::relu_formula.linear);
}

TEST_CASE("equal parts of an expression are computed once") {
    // x, sigmoid(x), x * sigmoid(x), the gradient, 1, 1 - s, s * (1 - s), x * that, s + that, dy * that
    CHECK(ts::op::silu_formula.nodes.count == 10);
    // x * x in both, and no product with 1
    const auto f = ts::expression::trace([](ts::expression::value x) { return x * x + 1 * (x * x); });
    CHECK(f.flops == 2);
}

TEST_CASE("what is not a number stays one, and does not reach what is not chosen") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(std::isnan(at_number<ts::relu>(nan).first));
    CHECK(at_number<ts::relu>(nan).second == 1); // not clipped
    CHECK(at_number<ts::relu>(-infinity) == std::pair{0.0, 0.0});
    CHECK(std::isnan(at_number<clamped>(nan).first));
    CHECK(std::isnan(at_number<leaky<20>>(nan).first));
    CHECK(at_number<soft_plus>(infinity).first == infinity);
    CHECK(at_number<soft_plus>(1000) == std::pair{3000.0, 3.0});
    CHECK(at_number<soft_plus>(-20).first == doctest::Approx(std::exp(-60)).epsilon(1e-12));
    CHECK(std::isnan(at_number<signed_square>(nan).first));
    const op_case c{"relu", ts::relu::attributes, {ts::make_shape(1, 1)}};
    op_instance op(c);
    op.value[0].numbers[0] = -1;
    op.gradient[1].numbers[0] = infinity;
    op.forward();
    op.backward();
    CHECK(op.gradient[0].numbers[0] == 0); // infinity times a slope of 0 would be no number
}

TEST_CASE("an operator that is an expression is called as its type is, or as it says") {
    CHECK(std::string(ts::record_of(with_two::attributes).name) == "with_two");
    CHECK(std::string(ts::record_of(leaky<20>::attributes).name).find("leaky<20>") != std::string::npos);
    CHECK(!ts::same_operator(*leaky<20>::attributes.kind.record, *leaky<30>::attributes.kind.record));
    CHECK(ts::infer(with_two::attributes, row<with_two>(2).inputs.data(), 1).refused.broken ==
          ts::rule::wrong_number_of_inputs);
}
