// SPDX-License-Identifier: Apache-2.0
// What an expression is made of: nodes, each a function of nodes before it, and a tape that writes them down once each.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>

namespace tessera::expression {

// NODE(name, operands, floating-point operations): what functions with series cost is a round number.
// clang-format off
#define TESSERA_EXPRESSION_NODES(NODE) \
    NODE(input, 0, 0) NODE(result, 0, 0) NODE(gradient, 0, 0) NODE(constant, 0, 0) NODE(attribute, 0, 0) \
    NODE(add, 2, 1) NODE(subtract, 2, 1) NODE(multiply, 2, 1) NODE(divide, 2, 1) NODE(negate, 1, 1) \
    NODE(less, 2, 1) NODE(less_equal, 2, 1) NODE(equal, 2, 1) NODE(select, 3, 1) \
    NODE(abs, 1, 1) NODE(sign, 1, 1) NODE(min, 2, 1) NODE(max, 2, 1) NODE(relu, 1, 1) NODE(floor, 1, 1) NODE(sqrt, 1, 1) \
    NODE(exp, 1, 10) NODE(log, 1, 10) NODE(pow, 2, 20) NODE(tanh, 1, 10) NODE(sigmoid, 1, 10) NODE(softplus, 1, 20) \
    NODE(erf, 1, 11) NODE(normal, 1, 11) NODE(sin, 1, 10) NODE(cos, 1, 10) \
    NODE(stop_gradient, 1, 0) NODE(straight_through, 2, 0)
// clang-format on

/// What a node computes. A condition (less, less_equal, equal) is 1 or 0; select(c, a, b) is b where c is 0, else a.
/// min and max are NaN where an operand is; sign, of 0 and NaN, is what it is of. `normal` is the normal distribution
/// function; straight_through(a, b) is a.
enum class opcode : std::uint8_t {
#define TESSERA_EXPRESSION_NODE(name, operands, flops) name,
    TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)
#undef TESSERA_EXPRESSION_NODE
};

constexpr int operands_of(opcode what) {
#define TESSERA_EXPRESSION_NODE(name, operands, flops) operands,
    constexpr int counts[] = {TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)};
#undef TESSERA_EXPRESSION_NODE
    return counts[static_cast<int>(what)];
}

constexpr int flops_of(opcode what) {
#define TESSERA_EXPRESSION_NODE(name, operands, flops) flops,
    constexpr int counts[] = {TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)};
#undef TESSERA_EXPRESSION_NODE
    return counts[static_cast<int>(what)];
}

/// A function of nodes before it. Leaves: input number of[0], the result of the whole expression, the gradient of that
/// result, a constant, attribute number of[0] of the operator (see expression_attributes), which is a constant of each
/// use.
struct node {
    opcode what = opcode::constant;
    std::int8_t of[3] = {-1, -1, -1};
    double constant = 0;
};

constexpr bool operator==(const node& a, const node& b) {
    return a.what == b.what && a.of[0] == b.of[0] && a.of[1] == b.of[1] && a.of[2] == b.of[2] &&
           __builtin_bit_cast(std::uint64_t, a.constant) == __builtin_bit_cast(std::uint64_t, b.constant);
}

inline constexpr int max_nodes = 64;

/// Not for constant expressions: compilers name it where an expression is too large.
inline void an_expression_with_its_derivatives_has_at_most_64_nodes() { __builtin_abort(); }

/// Nodes, equal ones once.
struct tape {
    node nodes[max_nodes]{};
    int count = 0;

    constexpr int put(const node& n) {
        for (int i = 0; i < count; ++i) {
            if (nodes[i] == n) {
                return i;
            }
        }
        if (count == max_nodes) {
            an_expression_with_its_derivatives_has_at_most_64_nodes();
        }
        nodes[count] = n;
        return count++;
    }
    constexpr int put_constant(double x) {
        return put(node{.what = opcode::constant, .of = {-1, -1, -1}, .constant = x});
    }
    constexpr int put_leaf(opcode what, int slot = -1) {
        return put(node{.what = what, .of = {static_cast<std::int8_t>(slot), -1, -1}, .constant = 0});
    }
    constexpr bool is(int i, opcode what) const { return i >= 0 && nodes[i].what == what; }
    constexpr bool is_constant(int i, double x) const {
        return is(i, opcode::constant) &&
               nodes[i].constant == x; // NOLINT(clang-diagnostic-float-equal): exactly that one
    }

    /// A node, or a simpler one whose numbers are the same bits, NaNs and signs of zeros among them.
    constexpr int make(opcode what, int a, int b = -1, int c = -1) {
        if (what == opcode::multiply && is_constant(a, 1)) {
            return b;
        }
        if ((what == opcode::multiply || what == opcode::divide) && is_constant(b, 1)) {
            return a;
        }
        if (what == opcode::negate && is(a, opcode::negate)) {
            return nodes[a].of[0];
        }
        if (what == opcode::select && b == c) {
            return b;
        }
        if (is(a, opcode::constant) && (b < 0 || is(b, opcode::constant)) && c < 0) {
            const double x = nodes[a].constant;
            const double y = b < 0 ? 0 : nodes[b].constant;
            switch (what) {
            case opcode::add:
                return put_constant(x + y);
            case opcode::subtract:
                return put_constant(x - y);
            case opcode::multiply:
                return put_constant(x * y);
            case opcode::negate:
                return put_constant(-x);
            default:
                break;
            }
        }
        return put(node{.what = what,
                        .of = {static_cast<std::int8_t>(a), static_cast<std::int8_t>(b), static_cast<std::int8_t>(c)},
                        .constant = 0});
    }
};

} // namespace tessera::expression

#include "tessera/base/end_header.inl"
