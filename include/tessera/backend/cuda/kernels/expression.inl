// SPDX-License-Identifier: Apache-2.0
// Bodies of expression.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/expression.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE std::string float_literal(double x) {
    const auto single = static_cast<float>(x);
    if (is_nan(single) || is_infinite(single)) {
        return is_nan(single) ? "__uint_as_float(0x7fc00000u)"
               : single > 0   ? "__uint_as_float(0x7f800000u)"
                              : "__uint_as_float(0xff800000u)";
    }
    char text[32];
    print_to(text, sizeof text, "%.9g", static_cast<double>(single));
    std::string literal(text);
    literal += literal.find_first_of(".e") == std::string::npos ? ".0f" : "f";
    return single < 0 || std::signbit(single) ? "(" + literal + ")" : literal;
}

TESSERA_INLINE std::string node_text(expression::opcode what, const std::string& a, const std::string& b,
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

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE kernel_leaves leaves_of(const expression::formula& f, int which) {
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

} // namespace tessera::cuda

namespace tessera::cuda::detail {

TESSERA_INLINE std::string pointers_text(const expression::formula& f, int which, const kernel_leaves& leaves) {
    std::string text;
    for (int k = 0; k < leaves.count; ++k) {
        text += "    const T* x" + std::to_string(k) + " = pointer<const T>(a, " + std::to_string(k) + ");\n";
    }
    const std::string made = f.loss && which < 0 ? "float" : "T";
    return text + "    " + made + "* to = pointer<" + made + ">(a, " + std::to_string(leaves.count) + ");\n";
}

TESSERA_INLINE std::string nodes_text(const expression::formula& f, int which, const kernel_leaves& leaves,
                                      bool broadcast) {
    const auto number_of = [&](int leaf) {
        if (f.loss && leaf == f.inputs + 1) {
            return "static_cast<float>(a.f[" + std::to_string(expression::most_attributes) + "])";
        }
        for (int k = 0; k < leaves.count; ++k) {
            if (leaves.at[k] == leaf) {
                const std::string number = std::to_string(k);
                return "x" + number + (broadcast ? "[p" + number + "]" : "[i]");
            }
        }
        return std::string("0.0f"); // an input that the result does not depend on
    };
    std::string text;
    const expression::node_order order = order_of(f, which);
    const auto variable = [](int i) { return "v" + std::to_string(i); };
    for (int k = 0; k < order.count; ++k) {
        const int i = order.at[k];
        const expression::node& n = f.nodes.nodes[i];
        const auto operand = [&](int p) { return n.of[p] < 0 ? std::string() : variable(n.of[p]); };
        const std::string value =
            i == f.result && f.reads_result(which)    ? number_of(f.inputs)
            : n.what == expression::opcode::input     ? number_of(n.of[0])
            : n.what == expression::opcode::gradient  ? number_of(f.inputs + 1)
            : n.what == expression::opcode::attribute ? "static_cast<float>(a.f[" + std::to_string(n.of[0]) + "])"
            : n.what == expression::opcode::constant  ? float_literal(n.constant)
                                                      : node_text(n.what, operand(0), operand(1), operand(2));
        text += "        const float " + variable(i) + " = " + value + ";\n";
    }
    return text;
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE std::string kernel_text(const std::string& name, const expression::formula& f, int which) {
    const kernel_leaves leaves = leaves_of(f, which);
    return "\ntemplate <class T>\n__device__ void " + name + "_of(const given<count_numbers>& a) {\n" +
           detail::pointers_text(f, which, leaves) +
           "    for (long long i = first_index(); i < a.n.count; i += index_step()) {\n" +
           detail::nodes_text(f, which, leaves, false) + "        to[i] = v" + std::to_string(f.root(which)) +
           ";\n    }\n}\nTYPED_KERNEL(" + name + ", count_numbers)\n";
}

TESSERA_INLINE std::string broadcast_kernel_text(const std::string& name, const expression::formula& f, int which) {
    const kernel_leaves leaves = leaves_of(f, which);
    std::string text = "\ntemplate <class T>\n__device__ void " + name + "_of(const given<broadcast_numbers>& a) {\n" +
                       detail::pointers_text(f, which, leaves) + "    long long at[5] = {0, 0, 0, 0, 0};\n" +
                       "    for (long long k = first_index(); k < a.n.count; k += index_step()) {\n" +
                       "    coordinates_of(a.n.extents, a.n.written, k, at);\n    double total = 0;\n" +
                       "    for (long long j = 0; j < a.n.points; ++j) {\n" +
                       "        coordinates_of(a.n.extents, a.n.summed, j, at);\n";
    for (int k = 0; k < leaves.count; ++k) {
        text += "        const long long p" + std::to_string(k) + " = place_among(a.n.extents, a.n.leaves[" +
                std::to_string(k) + "], at);\n";
    }
    text += detail::nodes_text(f, which, leaves, true) + "        total += v" + std::to_string(f.root(which)) +
            ";\n    }\n    to[k] = static_cast<float>(total);\n    }\n}\nTYPED_KERNEL(" + name +
            ", broadcast_numbers)\n";
    return text;
}

TESSERA_INLINE std::string kernel_name(const std::string& name, const expression::formula& f, int which,
                                       bool broadcast) {
    return name + kernel_suffix(f, which, broadcast);
}

TESSERA_INLINE std::string broadcast_kernels_text(const std::string& name, const expression::formula& f) {
    std::string text;
    for (int which = expression::the_result; f.inputs > 1 && !f.loss && which < f.inputs; ++which) {
        text += broadcast_kernel_text(kernel_name(name, f, which, true), f, which);
    }
    return text;
}

TESSERA_INLINE std::string kernels_text(const std::string& name, const expression::formula& f) {
    std::string text;
    for (int which = expression::the_result; which < f.inputs; ++which) {
        text += kernel_text(kernel_name(name, f, which), f, which);
    }
    return text + broadcast_kernels_text(name, f);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
