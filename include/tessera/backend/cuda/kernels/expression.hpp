// SPDX-License-Identifier: Apache-2.0
// The text of kernels that are made of expressions.
#pragma once

#include "tessera/backend/cuda/kernels/common.hpp"
#include "tessera/op/description.hpp"
#include "tessera/op/expression/formula.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace tessera::cuda {

namespace detail {

/// A number as a float literal of device code.
inline std::string float_literal(double x) {
    const auto single = static_cast<float>(x);
    if (std::isnan(single) || std::isinf(single)) {
        return std::isnan(single) ? "__uint_as_float(0x7fc00000u)"
               : single > 0       ? "__uint_as_float(0x7f800000u)"
                                  : "__uint_as_float(0xff800000u)";
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(single));
    std::string literal(text);
    literal += literal.find_first_of(".e") == std::string::npos ? ".0f" : "f";
    return single < 0 || std::signbit(single) ? "(" + literal + ")" : literal;
}

/// What a node computes, of the names of its operands.
inline std::string node_text(expression::opcode what, const std::string& a, const std::string& b,
                             const std::string& c) {
    using expression::opcode;
    const auto call = [&](const char* function) { return std::string(function) + "(" + a + ")"; };
    const auto either = [&](const std::string& asked, const std::string& yes, const std::string& no) {
        return asked + " ? " + yes + " : " + no;
    };
    switch (what) {
    case opcode::add:
        return a + " + " + b;
    case opcode::subtract:
        return a + " - " + b;
    case opcode::multiply:
        return a + " * " + b;
    case opcode::divide:
        return a + " / " + b;
    case opcode::negate:
        return "-" + a;
    case opcode::less:
        return either(a + " < " + b, "1.0f", "0.0f");
    case opcode::less_equal:
        return either(a + " <= " + b, "1.0f", "0.0f");
    case opcode::equal:
        return either(a + " == " + b, "1.0f", "0.0f");
    case opcode::select:
        return either(a + " != 0.0f", b, c);
    case opcode::abs:
        return call("fabsf");
    case opcode::sign:
        return either(a + " > 0.0f", "1.0f", either(a + " < 0.0f", "-1.0f", a));
    case opcode::min:
        return either(a + " < " + b + " || " + a + " != " + a, a, b);
    case opcode::max:
        return either(a + " > " + b + " || " + a + " != " + a, a, b);
    case opcode::relu:
        return either(a + " <= 0.0f", "0.0f", a);
    case opcode::floor:
        return call("floorf");
    case opcode::sqrt:
        return call("sqrtf");
    case opcode::exp:
        return call("expf");
    case opcode::log:
        return call("logf");
    case opcode::pow:
        return "powf(" + a + ", " + b + ")";
    case opcode::tanh:
        return call("tanhf");
    case opcode::sigmoid:
        return "1.0f / (1.0f + expf(-" + a + "))";
    case opcode::softplus:
        return "(" + either(a + " <= 0.0f", "0.0f", a) + ") + log1pf(expf(-fabsf(" + a + ")))";
    case opcode::erf:
        return call("erff");
    case opcode::normal:
        return "0.5f * erfcf(-" + a + " * 0.70710678118654752440f)";
    case opcode::sin:
        return call("sinf");
    case opcode::cos:
        return call("cosf");
    default: // stop_gradient, straight_through
        return a;
    }
}

} // namespace detail

/// Pointers that a kernel of an expression takes before that of what it writes, in order: of inputs, the result, its gradient those that it reads.
/// They are numbers of leaves: k for input k, the number of inputs for the result, one more for its gradient, which of a loss is no array but f[0].
struct kernel_leaves {
    int at[expression::most_inputs + 2] = {};
    int count = 0;
};

inline kernel_leaves leaves_of(const expression::formula& f, int which) {
    kernel_leaves leaves;
    const std::uint32_t reads = which < 0 ? bit(f.inputs) - 1 : f.reads[which];
    for (int k = 0; k <= f.inputs; ++k) {
        if (has(reads, k)) {
            leaves.at[leaves.count++] = k;
        }
    }
    if (which >= 0 && !f.loss) {
        leaves.at[leaves.count++] = f.inputs + 1;
    }
    return leaves;
}

/// A TYPED_KERNEL that computes the result of a formula (expression::the_result), or the gradient of an input. at: what leaves_of() says, to, which
/// of a loss is float. n: count. f: the attributes, behind them the gradient of a loss.
inline std::string kernel_text(const std::string& name, const expression::formula& f, int which) {
    const kernel_leaves leaves = leaves_of(f, which);
    std::string text = "\ntemplate <class T>\n__device__ void " + name + "_of(const arguments& a) {\n";
    const auto pointer_of = [&](int leaf) {
        if (f.loss && leaf == f.inputs + 1) {
            return "static_cast<float>(a.f[" + std::to_string(expression::most_attributes) + "])";
        }
        for (int k = 0; k < leaves.count; ++k) {
            if (leaves.at[k] == leaf) {
                return "x" + std::to_string(k) + "[i]";
            }
        }
        return std::string("0.0f"); // an input that the result does not depend on
    };
    for (int k = 0; k < leaves.count; ++k) {
        text += "    const T* x" + std::to_string(k) + " = pointer<const T>(a, " + std::to_string(k) + ");\n";
    }
    const std::string made = f.loss && which < 0 ? "float" : "T";
    text += "    " + made + "* to = pointer<" + made + ">(a, " + std::to_string(leaves.count) + ");\n";
    text += "    for (long long i = first_index(); i < a.n[0]; i += index_step()) {\n";
    const expression::node_order order = order_of(f, which);
    const auto variable = [](int i) { return "v" + std::to_string(i); };
    for (int k = 0; k < order.count; ++k) {
        const int i = order.at[k];
        const expression::node& n = f.nodes.nodes[i];
        const auto operand = [&](int p) { return n.of[p] < 0 ? std::string() : variable(n.of[p]); };
        const std::string value =
            i == f.result && f.reads_result(which)    ? pointer_of(f.inputs)
            : n.what == expression::opcode::input     ? pointer_of(n.of[0])
            : n.what == expression::opcode::gradient  ? pointer_of(f.inputs + 1)
            : n.what == expression::opcode::attribute ? "static_cast<float>(a.f[" + std::to_string(n.of[0]) + "])"
            : n.what == expression::opcode::constant  ? detail::float_literal(n.constant)
                                                      : detail::node_text(n.what, operand(0), operand(1), operand(2));
        text += "        const float " + variable(i) + " = " + value + ";\n";
    }
    text += "        to[i] = " + variable(f.root(which)) + ";\n    }\n}\nTYPED_KERNEL(" + name + ")\n";
    return text;
}

/// What the name of the kernel of a pass ends in: _forward; _backward, or, of an operator of several inputs, _backward_0 and so on.
constexpr const char* kernel_suffix(const expression::formula& f, int which) {
    constexpr const char* of_input[expression::most_inputs] = {"_backward_0", "_backward_1", "_backward_2",
                                                               "_backward_3"};
    return which < 0 ? "_forward" : f.inputs == 1 ? "_backward" : of_input[which];
}
inline std::string kernel_name(const std::string& name, const expression::formula& f, int which) {
    return name + kernel_suffix(f, which);
}

/// All kernels of an operator.
inline std::string kernels_text(const std::string& name, const expression::formula& f) {
    std::string text;
    for (int which = expression::the_result; which < f.inputs; ++which) {
        text += kernel_text(kernel_name(name, f, which), f, which);
    }
    return text;
}

} // namespace tessera::cuda
