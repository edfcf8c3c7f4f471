// SPDX-License-Identifier: Apache-2.0
// Bodies of binary.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/binary.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE void erf(call& c) {
    double factor = 1;
    const view v = before_scale(c, c.data(0), factor);
    c.require(is_near(factor, std::sqrt(0.5)), "it is no part of a GELU");
    value phi;
    phi.is = value::kind::normal;
    phi.v = v;
    phi.factor = 2;
    phi.offset = -1;
    c.give(phi);
}

TESSERA_INLINE bool is_causal_mask(const constant& x) {
    if (x.whole || x.rank() < 2 || x.extents[x.extents.size() - 1] != x.extents[x.extents.size() - 2]) {
        return false;
    }
    const auto r = x.extents.size();
    index_walk walk(x.extents);
    bool any = false;
    for (std::size_t i = 0; i < x.size(); ++i, walk.next()) {
        const bool above = walk.at(r - 1) > walk.at(r - 2);
        if (above ? !(x.numbers[i] < -1e4F) : x.numbers[i] != 0) {
            return false;
        }
        any = any || above;
    }
    return any;
}

TESSERA_INLINE view with_number(call& c, const std::string& type, const view& v, double x, bool number_first) {
    if (type == "Add") {
        return x == 0 ? v : applied(c, v, with_numbers(op_kind::add_constant, x));
    }
    if (type == "Sub") {
        return number_first
                   ? applied(c, applied(c, v, op_kind::negate, ".negate"), with_numbers(op_kind::add_constant, x))
                   : applied(c, v, with_numbers(op_kind::add_constant, -x));
    }
    if (type == "Mul") { // of what was scaled already, once
        double before = 1;
        const view unscaled = before_scale(c, v, before);
        return std::abs(before * x - 1) < 1e-7 ? unscaled
                                               : applied(c, unscaled, with_numbers(op_kind::scale, before * x));
    }
    if (type == "Div" && !number_first) {
        return with_number(c, "Mul", v, 1 / x, false);
    }
    if (type == "Div") {
        return applied(c, applied(c, v, with_numbers(op_kind::power, -1), ".power"), with_numbers(op_kind::scale, x));
    }
    if (type == "Pow") {
        c.require(!number_first, "its exponent is no constant number");
        return applied(c, v, with_numbers(op_kind::power, x));
    }
    const double largest = std::numeric_limits<float>::max();
    return type == "Max" ? applied(c, v, with_numbers(op_kind::clamp, x, largest))
                         : applied(c, v, with_numbers(op_kind::clamp, -largest, x));
}

TESSERA_INLINE bool with_normal(call& c, const std::string& type) {
    const bool first = c.in[0].is == value::kind::normal;
    if (!first && c.in[1].is != value::kind::normal) {
        return false;
    }
    value phi = c.in[first ? 0 : 1];
    const std::size_t other = first ? 1 : 0;
    double x = 0;
    if (c.is_number(other, x) && (type == "Add" || type == "Mul" || (type == "Div" && first))) {
        phi.offset = type == "Add" ? phi.offset + x : type == "Mul" ? phi.offset * x : phi.offset / x;
        phi.factor = type == "Add" ? phi.factor : type == "Mul" ? phi.factor * x : phi.factor / x;
        c.give(phi);
        return true;
    }
    double factor = 1;
    const view v = before_scale(c, c.data(other), factor);
    c.require(type == "Mul" && std::abs(phi.offset) < 1e-6 && same_view(v, phi.v), "an Erf is no part of a GELU");
    c.give(with_number(c, "Mul", applied(c, v, op_kind::gelu, std::abs(factor * phi.factor - 1) < 1e-6 ? "" : ".gelu"),
                       std::abs(factor * phi.factor - 1) < 1e-6 ? 1 : factor * phi.factor, false));
    return true;
}

TESSERA_INLINE void times_constant(call& c, const view& v, const constant& fixed) {
    parameter_source term;
    constant beta;
    const auto one = std::find_if(fixed.extents.begin(), fixed.extents.end(), [](index_t e) { return e > 1; });
    const auto from_right = static_cast<int>(fixed.extents.end() - one);
    const bool has_beta = static_cast<index_t>(fixed.size()) == *one && take_bias(c, from_right, *one, term);
    if (has_beta) {
        beta = {{*one}, false, term.numbers, {}, term.from};
    }
    c.give(channel_affine(c, v, &fixed, has_beta ? &beta : nullptr));
}

TESSERA_INLINE void with_constant(call& c, const std::string& type, std::size_t k) {
    const view& v = c.data(1 - k);
    double x = 0;
    if (c.is_number(k, x) && c.fixed(k).rank() <= v.rank()) {
        c.give(with_number(c, type, v, x, k == 0));
        return;
    }
    const constant& fixed = c.fixed(k);
    if (type == "Add" && is_causal_mask(fixed)) {
        value masked;
        masked.is = value::kind::causal;
        masked.v = v;
        c.give(masked);
        return;
    }
    if (type == "Mul") {
        times_constant(c, v, fixed);
        return;
    }
    c.require(type == "Add" || type == "Sub" || (type == "Div" && k == 1),
              "one of its inputs is a constant that is no number");
    constant turned = fixed;
    turned.name = type == "Add" ? fixed.name : "";
    c.require(!turned.whole, "one of its inputs is of integers");
    for (float& y : turned.numbers) {
        y = type == "Sub" && k == 1 ? -y : type == "Div" ? 1 / y : y;
    }
    if (type == "Div") {
        c.give(channel_affine(c, v, &turned, nullptr));
        return;
    }
    const view left = type == "Sub" && k == 0 ? applied(c, v, op_kind::negate, ".negate") : v;
    std::size_t several = 0;
    for (const index_t e : turned.extents) {
        several += e > 1 ? 1 : 0;
    }
    const bool of_channels = several == 1 && left.rank() >= 4 && left.samples() == 0;
    c.give(of_channels ? channel_affine(c, left, nullptr, &turned) : add_table(c, left, turned));
}

TESSERA_INLINE void of_tensors(call& c, const std::string& type) {
    const view x = c.data(0);
    const view y = c.data(1);
    if (type == "Mul") { // x sigmoid(x)
        for (const auto& [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
            const written_node& n = c.t.w.node_at(b.node);
            if (!n.is_input && n.attributes.kind == op_kind::sigmoid && same_view(b.at(n.reads[0]), a)) {
                c.give(applied(c, a, op_kind::silu));
                return;
            }
        }
    }
    c.require(type != "Pow", "its exponent is no constant number");
    c.give(combined(c, x, y,
                    type == "Add"   ? op_kind::add
                    : type == "Sub" ? op_kind::subtract
                    : type == "Mul" ? op_kind::multiply
                    : type == "Div" ? op_kind::divide
                    : type == "Min" ? op_kind::minimum
                                    : op_kind::maximum));
}

TESSERA_INLINE void binary(call& c) {
    const std::string& type = c.n.type;
    if (c.in.size() == 1) {
        c.give(c.data(0));
        return;
    }
    c.require(c.in.size() == 2, "it has more than two inputs");
    if (with_normal(c, type)) {
        return;
    }
    if (c.is_constant(0) || c.is_constant(1)) {
        with_constant(c, type, c.is_constant(0) ? 0 : 1);
    } else {
        of_tensors(c, type);
    }
}

TESSERA_INLINE void sum(call& c) {
    view all = c.data(0);
    for (std::size_t k = 1; k < c.in.size(); ++k) {
        all = combined(c, all, c.data(k), op_kind::add);
    }
    c.give(all);
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
