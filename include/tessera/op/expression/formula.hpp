// SPDX-License-Identifier: Apache-2.0
// An expression with its derivatives: one tape, of which the result and the gradient of each input are nodes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/value.hpp"

namespace tessera::expression {

inline constexpr int most_inputs = 4;
inline constexpr int most_attributes = 2;

/// As a template argument: which node of a formula is meant.
inline constexpr int the_result = -1; ///< or the number of an input, for its gradient

struct formula {
    tape nodes;
    int inputs = 0;
    int attributes = 0; ///< numbers that each use of the operator has of its own
    int result = -1;
    int gradient[most_inputs] = {-1, -1, -1, -1};
    /// What the gradient of each input reads: bit k for input k, bit `inputs` for the result.
    std::uint32_t reads[most_inputs] = {};
    int flops = 0;
    bool linear = false;          ///< in its inputs taken together
    bool passes_gradient = false; ///< the gradient of each input is that of the result
    bool loss = false;            ///< the gradient of the result is one number for all elements

    constexpr int root(int which) const { return which < 0 ? result : gradient[which]; }
    /// The gradient of an input takes the result from memory instead of computing it again.
    constexpr bool reads_result(int which) const {
        return which >= 0 && (reads[which] >> static_cast<unsigned>(inputs) & 1U) != 0;
    }
};

/// The nodes that a root needs, as bits. A node that memory has (`given`) needs no others.
constexpr std::uint64_t nodes_for(const tape& t, int root, int given = -1) {
    std::uint64_t all = std::uint64_t{1} << static_cast<unsigned>(root);
    for (int i = root; i >= 0; --i) {
        const node& n = t.nodes[i];
        if (i == given || (all >> static_cast<unsigned>(i) & 1U) == 0) {
            continue;
        }
        for (int k = 0; k < operands_of(n.what); ++k) {
            all |= std::uint64_t{1} << static_cast<unsigned>(n.of[k]);
        }
    }
    return all;
}
/// Those that the result (`the_result`) or the gradient of an input needs.
constexpr std::uint64_t nodes_for(const formula& f, int which) {
    return nodes_for(f.nodes, f.root(which), f.reads_result(which) ? f.result : -1);
}

/// An order in which the nodes of a root are computed.
struct node_order {
    std::uint8_t at[max_nodes]{};
    int count = 0;
};

namespace detail {

constexpr void visit(const formula& f, int which, int i, std::uint64_t& done, node_order& to) {
    if ((done >> static_cast<unsigned>(i) & 1U) != 0) {
        return;
    }
    done |= std::uint64_t{1} << static_cast<unsigned>(i);
    const node& n = f.nodes.nodes[i];
    if (i != f.result || !f.reads_result(which)) {
        for (int left = operands_of(n.what); left > 0;
             --left) { // the newest first: what is short of registers begins with what is deepest
            int next = -1;
            for (int k = 0; k < operands_of(n.what); ++k) {
                next = (done >> static_cast<unsigned>(n.of[k]) & 1U) == 0 && n.of[k] > next ? n.of[k] : next;
            }
            if (next >= 0) {
                visit(f, which, next, done, to);
            }
        }
    }
    to.at[to.count++] = static_cast<std::uint8_t>(i);
}

} // namespace detail

constexpr node_order order_of(const formula& f, int which) {
    node_order order;
    std::uint64_t done = 0;
    detail::visit(f, which, f.root(which), done, order);
    return order;
}

namespace detail {

/// d node / d input as nodes of the same tape. A zero that no number makes is no node: -1.
struct differentiation {
    tape& t;

    static constexpr double root_of_pi_halved_inverse = 1.1283791670955126;  // 2 / sqrt(pi)
    static constexpr double normal_density_at_zero = 0.39894228040143267794; // 1 / sqrt(2 pi)

    constexpr int constant(double x) { return t.put_constant(x); }
    constexpr int plus(int a, int b) { return a < 0 ? b : b < 0 ? a : t.make(opcode::add, a, b); }
    constexpr int minus(int a) { return a < 0 ? a : t.make(opcode::negate, a); }
    /// A factor of a derivative: of a choice each side, so that what is not chosen does not count, be it NaN.
    constexpr int times(int slope, int by) {
        if (slope < 0 || by < 0) {
            return -1;
        }
        if (t.is_constant(slope, 1)) {
            return by;
        }
        if (t.is_constant(slope, 0)) {
            return slope;
        }
        return t.is_constant(by, 1) ? slope : t.make(opcode::multiply, by, slope);
    }
    /// select() of derivatives.
    constexpr int choose(int c, int a, int b) {
        if (a < 0 && b < 0) {
            return -1;
        }
        const int first = a < 0 ? constant(0) : a;
        return t.make(opcode::select, c, first, b < 0 ? constant(0) : b);
    }

    /// The slope of a function of one number at node `i`, by its operand `x` or by itself.
    constexpr int slope(int i) {
        const int x = t.nodes[i].of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
        switch (t.nodes[i].what) {
        case opcode::abs:
            return t.make(opcode::sign, x);
        case opcode::relu: // what is not finite stays out of what is clipped; NaN is not clipped
            return choose(t.make(opcode::less_equal, i, constant(0)), -1, constant(1));
        case opcode::sqrt:
            return t.make(opcode::divide, constant(0.5), i);
        case opcode::exp:
            return i;
        case opcode::log:
            return t.make(opcode::divide, constant(1), x);
        case opcode::tanh:
            return t.make(opcode::subtract, constant(1), t.make(opcode::multiply, i, i));
        case opcode::sigmoid:
            return t.make(opcode::multiply, i, t.make(opcode::subtract, constant(1), i));
        case opcode::softplus:
            return t.make(opcode::sigmoid, x);
        case opcode::erf:
            return times(constant(root_of_pi_halved_inverse),
                         t.make(opcode::exp, t.make(opcode::negate, t.make(opcode::multiply, x, x))));
        case opcode::normal:
            return times(constant(normal_density_at_zero),
                         t.make(opcode::exp, t.make(opcode::multiply, t.make(opcode::multiply, constant(-0.5), x), x)));
        case opcode::sin:
            return t.make(opcode::cos, x);
        case opcode::cos:
            return minus(t.make(opcode::sin, x));
        default: // sign, floor, stop_gradient: none
            return -1;
        }
    }

    /// The derivative of node `i`, given those of the nodes before it.
    constexpr int of(int i, const int (&d)[max_nodes]) {
        const node n = t.nodes[i];
        const int a = n.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
        const int b = n.of[1]; // NOLINT(bugprone-signed-char-misuse): a small number
        const int da = operands_of(n.what) > 0 ? d[a] : -1;
        const int db = operands_of(n.what) > 1 ? d[b] : -1;
        switch (n.what) {
        case opcode::add:
            return plus(da, db);
        case opcode::subtract:
            return db < 0 ? da : da < 0 ? minus(db) : t.make(opcode::subtract, da, db);
        case opcode::multiply:
            return plus(times(da, b), times(db, a));
        case opcode::divide: { // da / b - a / b * db / b
            const int first = da < 0 ? -1 : t.make(opcode::divide, da, b);
            const int second = db < 0 ? -1 : t.make(opcode::divide, times(db, i), b);
            return second < 0 ? first : first < 0 ? minus(second) : t.make(opcode::subtract, first, second);
        }
        case opcode::negate:
            return minus(da);
        case opcode::select:
            return choose(a, db, d[n.of[2]]);
        case opcode::min:
            return da < 0 && db < 0 ? -1 : choose(t.make(opcode::less, b, a), db, da);
        case opcode::max:
            return da < 0 && db < 0 ? -1 : choose(t.make(opcode::less, a, b), db, da);
        case opcode::pow: { // b a^(b-1) da + a^b log(a) db
            if (t.is(b, opcode::constant)) {
                const double e = t.nodes[b].constant;
                return da < 0
                           ? -1
                           : times(t.make(opcode::multiply, constant(e), t.make(opcode::pow, a, constant(e - 1))), da);
            }
            const int below = da < 0 ? -1 : t.make(opcode::pow, a, t.make(opcode::subtract, b, constant(1)));
            const int first = times(da, below < 0 ? -1 : t.make(opcode::multiply, b, below));
            return plus(first, db < 0 ? -1 : times(db, t.make(opcode::multiply, i, t.make(opcode::log, a))));
        }
        case opcode::straight_through:
            return db;
        case opcode::less:
        case opcode::less_equal:
        case opcode::equal:
            return -1;
        default:
            return da < 0 ? -1 : times(slope(i), da);
        }
    }

    constexpr int derivative(int root, int input) {
        int d[max_nodes]{};
        const std::uint64_t used = nodes_for(t, root);
        for (int i = 0; i <= root; ++i) {
            d[i] = -1;
            if ((used >> static_cast<unsigned>(i) & 1U) != 0) {
                const node& n = t.nodes[i];
                d[i] = n.what == opcode::input ? (n.of[0] == input ? constant(1) : -1) : of(i, d);
            }
        }
        return d[root];
    }
    /// The derivative times the gradient of the result; into the sides of a choice, so that a side without slope is 0
    /// whatever the gradient.
    constexpr int pushed(int slope_of_input, int gradient) {
        if (slope_of_input < 0) {
            return constant(0);
        }
        const node n = t.nodes[slope_of_input];
        if (n.what == opcode::select) {
            const int first = pushed(n.of[1], gradient);
            return t.make(opcode::select, n.of[0], first, pushed(n.of[2], gradient));
        }
        return times(slope_of_input, gradient);
    }
};

/// Whether the node is linear in the inputs taken together.
constexpr bool is_linear(const tape& t, int i) {
    const node& n = t.nodes[i];
    const auto constant = [&](int k) { return t.is(n.of[k], opcode::constant) || t.is(n.of[k], opcode::attribute); };
    switch (n.what) {
    case opcode::input:
        return true;
    case opcode::add:
    case opcode::subtract:
        return is_linear(t, n.of[0]) && is_linear(t, n.of[1]);
    case opcode::negate:
        return is_linear(t, n.of[0]);
    case opcode::multiply:
        return (constant(0) && is_linear(t, n.of[1])) || (constant(1) && is_linear(t, n.of[0]));
    case opcode::divide:
        return constant(1) && is_linear(t, n.of[0]);
    default:
        return false;
    }
}

/// Bits of the inputs among these nodes.
constexpr std::uint32_t inputs_among(const tape& t, std::uint64_t nodes) {
    std::uint32_t mask = 0;
    for (int i = 0; i < t.count; ++i) {
        if ((nodes >> static_cast<unsigned>(i) & 1U) != 0 && t.is(i, opcode::input)) {
            mask |= std::uint32_t{1} << static_cast<unsigned>(t.nodes[i].of[0]);
        }
    }
    return mask;
}

/// Backward of one input reads the result where that alone will do: the input's memory is free after forward, and who
/// reads the result in turn mostly keeps it for its own gradient. Else it reads inputs, of which the result can always
/// be computed again.
constexpr std::uint32_t reads_of(const formula& f, int which) {
    const std::uint32_t by_inputs = inputs_among(f.nodes, nodes_for(f.nodes, f.gradient[which]));
    if (f.inputs > 1 || by_inputs == 0 || f.nodes.is(f.result, opcode::input)) {
        return by_inputs;
    }
    const std::uint64_t by_result = nodes_for(f.nodes, f.gradient[which], f.result);
    return inputs_among(f.nodes, by_result) == 0 ? std::uint32_t{1} << static_cast<unsigned>(f.inputs) : by_inputs;
}

/// All that follows from the tape that `f` has its result on.
constexpr void complete(formula& f) {
    tape& t = f.nodes;
    const std::uint64_t forward = nodes_for(t, f.result);
    for (int i = 0; i <= f.result; ++i) {
        f.flops += (forward >> static_cast<unsigned>(i) & 1U) != 0 ? flops_of(t.nodes[i].what) : 0;
    }
    f.linear = is_linear(t, f.result);
    f.passes_gradient = true;
    differentiation d{t};
    const int gradient = t.put_leaf(opcode::gradient);
    for (int k = 0; k < f.inputs; ++k) {
        f.gradient[k] = d.pushed(d.derivative(f.result, k), gradient);
        f.reads[k] = reads_of(f, k);
        f.passes_gradient = f.passes_gradient && f.gradient[k] == gradient;
    }
}

/// A formula with its inputs, and its attributes behind them, on the tape.
constexpr formula begin(int inputs, int attributes = 0) {
    formula f;
    f.inputs = inputs;
    f.attributes = attributes;
    for (int k = 0; k < inputs + attributes; ++k) {
        f.nodes.put_leaf(k < inputs ? opcode::input : opcode::attribute, k < inputs ? k : k - inputs);
    }
    return f;
}
constexpr value input(formula& f, int k) { return {f.nodes, k}; }
constexpr void end(formula& f, const value& y) {
    f.result = node_on(f.nodes, y);
    complete(f);
}

} // namespace detail

// The formula of a function of one to four numbers, such as a lambda without captures.
constexpr formula trace(value (*of)(value)) {
    formula f = detail::begin(1);
    detail::end(f, of(detail::input(f, 0)));
    return f;
}
constexpr formula trace(value (*of)(value, value)) {
    formula f = detail::begin(2);
    detail::end(f, of(detail::input(f, 0), detail::input(f, 1)));
    return f;
}
constexpr formula trace(value (*of)(value, value, value)) {
    formula f = detail::begin(3);
    detail::end(f, of(detail::input(f, 0), detail::input(f, 1), detail::input(f, 2)));
    return f;
}
constexpr formula trace(value (*of)(value, value, value, value)) {
    formula f = detail::begin(4);
    detail::end(f, of(detail::input(f, 0), detail::input(f, 1), detail::input(f, 2), detail::input(f, 3)));
    return f;
}

/// The formula of a function of one number whose further arguments are attributes of the operator.
constexpr formula trace_with_attributes(value (*of)(value, value)) {
    formula f = detail::begin(1, 1);
    detail::end(f, of(detail::input(f, 0), detail::input(f, 1)));
    return f;
}
constexpr formula trace_with_attributes(value (*of)(value, value, value)) {
    formula f = detail::begin(1, 2);
    detail::end(f, of(detail::input(f, 0), detail::input(f, 1), detail::input(f, 2)));
    return f;
}

/// The formula of a type with a static member `of`, a function of such numbers, which may be generic.
template <class Function>
constexpr formula trace() {
    using v = value;
    if constexpr (requires(v x) { Function::of(x); }) {
        return trace([](v a) -> v { return Function::of(a); });
    } else if constexpr (requires(v x) { Function::of(x, x); }) {
        return trace([](v a, v b) -> v { return Function::of(a, b); });
    } else if constexpr (requires(v x) { Function::of(x, x, x); }) {
        return trace([](v a, v b, v c) -> v { return Function::of(a, b, c); });
    } else {
        static_assert(
            requires(v x) { Function::of(x, x, x, x); },
            "tessera: an expression is a member `static constexpr auto of(auto x)` of one to four numbers, made of "
            "+, -, *, /, comparisons and the functions of tessera/op/expression/value.hpp");
        return trace([](v a, v b, v c, v d) -> v { return Function::of(a, b, c, d); });
    }
}

} // namespace tessera::expression

#include "tessera/base/end_header.inl"
