// SPDX-License-Identifier: Apache-2.0
// The numbers that an expression is called with to be written down: operators and functions of them put nodes on a
// tape.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/nodes.hpp"

namespace tessera::expression {

/// Not for constant expressions: compilers name it where an expression asks for a function of constants alone.
inline void a_function_in_an_expression_has_an_operand_that_is_no_constant() { __builtin_abort(); }

/// A node, or a constant that is not on a tape yet.
struct value {
    tape* on = nullptr;
    int at = -1;
    double constant = 0;

    constexpr value(double x) : constant(x) {}
    constexpr value(tape& t, int node_number) : on(&t), at(node_number) {}
};

/// What a comparison gives: select() takes it.
struct condition {
    tape* on = nullptr;
    int at = -1;
};

namespace detail {

constexpr int node_on(tape& t, const value& x) { return x.on == nullptr ? t.put_constant(x.constant) : x.at; }

constexpr tape& tape_of(const value& a, const value& b) {
    tape* const t = a.on != nullptr ? a.on : b.on;
    if (t == nullptr) {
        a_function_in_an_expression_has_an_operand_that_is_no_constant();
    }
    return *t;
}
constexpr value one(opcode what, const value& a) {
    tape& t = tape_of(a, a);
    return {t, t.make(what, a.at)};
}
constexpr value two(opcode what, const value& a, const value& b) {
    tape& t = tape_of(a, b);
    const int first = node_on(t, a);
    return {t, t.make(what, first, node_on(t, b))};
}
constexpr condition compare(opcode what, const value& a, const value& b) {
    const value v = two(what, a, b);
    return {v.on, v.at};
}
constexpr condition join(opcode what, condition a, condition b) { return {a.on, a.on->make(what, a.at, b.at)}; }

/// x^n by products, n at least 1.
constexpr value to_power(const value& x, int n) {
    if (n == 1) {
        return x;
    }
    const value half = to_power(x, n / 2);
    const value square = two(opcode::multiply, half, half);
    return n % 2 == 0 ? square : two(opcode::multiply, square, x);
}

} // namespace detail

constexpr value operator+(value a, value b) { return detail::two(opcode::add, a, b); }
constexpr value operator-(value a, value b) { return detail::two(opcode::subtract, a, b); }
constexpr value operator*(value a, value b) { return detail::two(opcode::multiply, a, b); }
constexpr value operator/(value a, value b) { return detail::two(opcode::divide, a, b); }
constexpr value operator-(value a) { return detail::one(opcode::negate, a); }
constexpr value operator+(value a) { return a; }

constexpr condition operator<(value a, value b) { return detail::compare(opcode::less, a, b); }
constexpr condition operator>(value a, value b) { return detail::compare(opcode::less, b, a); }
constexpr condition operator<=(value a, value b) { return detail::compare(opcode::less_equal, a, b); }
constexpr condition operator>=(value a, value b) { return detail::compare(opcode::less_equal, b, a); }
constexpr condition operator==(value a, value b) { return detail::compare(opcode::equal, a, b); }
constexpr condition operator!(condition a) { return {a.on, a.on->make(opcode::subtract, a.on->put_constant(1), a.at)}; }
constexpr condition operator!=(value a, value b) { return !(a == b); }
// NOLINTBEGIN(misc-redundant-expression): both operands are always there
constexpr condition operator&&(condition a, condition b) { return detail::join(opcode::multiply, a, b); }
constexpr condition operator||(condition a, condition b) { return detail::join(opcode::max, a, b); }
// NOLINTEND(misc-redundant-expression)

/// The functions of expressions. As members of a base they are found before anything of the same name around the
/// expression (such as the layer tessera::sigmoid).
struct functions {
    static constexpr value abs(value x) { return detail::one(opcode::abs, x); }
    static constexpr value sign(value x) { return detail::one(opcode::sign, x); }
    static constexpr value relu(value x) { return detail::one(opcode::relu, x); }
    static constexpr value floor(value x) { return detail::one(opcode::floor, x); }
    static constexpr value sqrt(value x) { return detail::one(opcode::sqrt, x); }
    static constexpr value rsqrt(value x) { return 1 / sqrt(x); }
    static constexpr value square(value x) { return x * x; }
    static constexpr value exp(value x) { return detail::one(opcode::exp, x); }
    static constexpr value log(value x) { return detail::one(opcode::log, x); }
    static constexpr value tanh(value x) { return detail::one(opcode::tanh, x); }
    static constexpr value sigmoid(value x) { return detail::one(opcode::sigmoid, x); }
    /// log(1 + exp(x)), which neither overflows nor loses small results.
    static constexpr value softplus(value x) { return detail::one(opcode::softplus, x); }
    static constexpr value erf(value x) { return detail::one(opcode::erf, x); }
    /// The normal distribution function: (1 + erf(x / sqrt 2)) / 2.
    static constexpr value normal(value x) { return detail::one(opcode::normal, x); }
    static constexpr value sin(value x) { return detail::one(opcode::sin, x); }
    static constexpr value cos(value x) { return detail::one(opcode::cos, x); }
    static constexpr value min(value a, value b) { return detail::two(opcode::min, a, b); }
    static constexpr value max(value a, value b) { return detail::two(opcode::max, a, b); }
    static constexpr value clamp(value x, value least, value most) { return min(max(x, least), most); }
    /// Of a constant that is a whole number up to 16 by products.
    static constexpr value pow(value x, value exponent) {
        const double e = exponent.constant;
        const int n = e >= -16 && e <= 16 ? static_cast<int>(e) : 0;
        if (exponent.on != nullptr || static_cast<double>(n) != e || n == 0) { // NOLINT(clang-diagnostic-float-equal)
            return detail::two(opcode::pow, x, exponent);
        }
        return n > 0 ? detail::to_power(x, n) : 1 / detail::to_power(x, -n);
    }
    static constexpr value select(condition c, value a, value b) {
        const int first = detail::node_on(*c.on, a);
        return {*c.on, c.on->make(opcode::select, c.at, first, detail::node_on(*c.on, b))};
    }
    /// x, through which no gradient flows.
    static constexpr value stop_gradient(value x) { return detail::one(opcode::stop_gradient, x); }
    /// The value of one, with the gradient of the other: straight_through(floor(x), x).
    static constexpr value straight_through(value x, value gradient_of) {
        return detail::two(opcode::straight_through, x, gradient_of);
    }
};

// The same for functions of one's own that an expression calls.
#define TESSERA_EXPRESSION_FUNCTION(name)                                                                              \
    constexpr value name(value x) { return functions::name(x); }
TESSERA_EXPRESSION_FUNCTION(abs)
TESSERA_EXPRESSION_FUNCTION(sign)
TESSERA_EXPRESSION_FUNCTION(relu)
TESSERA_EXPRESSION_FUNCTION(floor)
TESSERA_EXPRESSION_FUNCTION(sqrt)
TESSERA_EXPRESSION_FUNCTION(rsqrt)
TESSERA_EXPRESSION_FUNCTION(square)
TESSERA_EXPRESSION_FUNCTION(exp)
TESSERA_EXPRESSION_FUNCTION(log)
TESSERA_EXPRESSION_FUNCTION(tanh)
TESSERA_EXPRESSION_FUNCTION(sigmoid)
TESSERA_EXPRESSION_FUNCTION(softplus)
TESSERA_EXPRESSION_FUNCTION(erf)
TESSERA_EXPRESSION_FUNCTION(normal)
TESSERA_EXPRESSION_FUNCTION(sin)
TESSERA_EXPRESSION_FUNCTION(cos)
TESSERA_EXPRESSION_FUNCTION(stop_gradient)
#undef TESSERA_EXPRESSION_FUNCTION
constexpr value min(value a, value b) { return functions::min(a, b); }
constexpr value max(value a, value b) { return functions::max(a, b); }
constexpr value pow(value x, value exponent) { return functions::pow(x, exponent); }
constexpr value clamp(value x, value least, value most) { return functions::clamp(x, least, most); }
constexpr value select(condition c, value a, value b) { return functions::select(c, a, b); }
constexpr value straight_through(value x, value gradient_of) { return functions::straight_through(x, gradient_of); }

} // namespace tessera::expression

#include "tessera/base/end_header.inl"
