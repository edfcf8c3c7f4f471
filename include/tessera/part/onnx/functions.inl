// SPDX-License-Identifier: Apache-2.0
// Bodies of functions.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/functions.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE op_attributes with_numbers(op_kind kind, double first, double second) {
    return attributes_of(kind, op::expression_attributes{.number = {first, second}});
}

TESSERA_INLINE view applied(call& c, const view& v, const op_attributes& a, const std::string& part) {
    if (c.t.w.node_at(v.node).extents.rank < 2) { // numbers alone have no operators
        view one = v;
        one.dims.emplace_back();
        const view made = c.t.w.add(c.name + part, a, c.t.w.whole(one, c.name));
        return {made.node, made.base, v.dims};
    }
    return v.at(c.t.w.add(c.name + part, a, view::of(v.node, v.base)).node);
}

TESSERA_INLINE view applied(call& c, const view& v, op_kind kind, const std::string& part) {
    return applied(c, v, op_attributes{.kind = kind}, part);
}

TESSERA_INLINE std::vector<int> aligned(call& c, view& x, view& y) {
    while (x.rank() < y.rank()) {
        x.dims.insert(x.dims.begin(), atoms{});
    }
    while (y.rank() < x.rank()) {
        y.dims.insert(y.dims.begin(), atoms{});
    }
    const std::vector<int> order = samples_first(c, x);
    c.require(y.samples() == order[0], "the samples of its inputs are different dimensions");
    x = c.t.w.whole(x.permuted(order), c.name);
    y = c.t.w.whole(y.permuted(order), c.name);
    return inverse_of(order);
}

TESSERA_INLINE view combined(call& c, view x, view y, op_kind kind, const std::string& part) {
    if (x.base == y.base && x.dims == y.dims && x.base.rank >= 2) {
        return x.at(c.t.w.add(c.name + part, kind, {x.node, y.node}).node);
    }
    const std::vector<int> back = aligned(c, x, y);
    return c.t.w.add(c.name + part, kind, {x.node, y.node}).permuted(back);
}

TESSERA_INLINE view before_scale(const call& c, const view& v, double& factor) {
    const written_node& n = c.t.w.node_at(v.node);
    if (!n.is_input && n.attributes.kind == op_kind::scale) {
        factor = n.attributes.as<op::expression_attributes>().number[0];
        return v.at(n.reads[0]);
    }
    factor = 1;
    return v;
}

TESSERA_INLINE void clip(call& c) {
    const double largest = std::numeric_limits<float>::max();
    c.give(applied(c, c.data(0), with_numbers(op_kind::clamp, c.number_at(1, -largest), c.number_at(2, largest))));
}

TESSERA_INLINE void gelu(call& c) {
    const view& v = c.data(0);
    if (c.text("approximate", "none") != "tanh") {
        c.give(applied(c, v, op_kind::gelu));
        return;
    }
    // x (1 + tanh(u)) / 2 is x sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and Gimpel 2016,
    // section 2).
    const double k = 2 * std::sqrt(2 / 3.14159265358979323846);
    const view squared = applied(c, v, with_numbers(op_kind::power, 2), ".square");
    const view factor = applied(c, applied(c, squared, with_numbers(op_kind::scale, 0.044715 * k), ".scale"),
                                with_numbers(op_kind::add_constant, k), ".add");
    const view inner = combined(c, factor, v, op_kind::multiply, ".inner");
    c.give(combined(c, v, applied(c, inner, op_kind::sigmoid, ".sigmoid"), op_kind::multiply));
}

TESSERA_INLINE void hard_sigmoid(call& c) {
    const double alpha = c.number("alpha", 0.2);
    const double beta = c.number("beta", 0.5);
    if (is_near(alpha, 1.0 / 6) && beta == 0.5) {
        function(c, op_kind::hard_sigmoid);
        return;
    }
    const view line = applied(c, applied(c, c.data(0), with_numbers(op_kind::scale, alpha), ".scale"),
                              with_numbers(op_kind::add_constant, beta), ".add");
    c.give(applied(c, line, with_numbers(op_kind::clamp, 0, 1)));
}

TESSERA_INLINE void prelu(call& c) {
    const view& v = c.data(0);
    double slope = 0;
    if (c.is_number(1, slope)) {
        c.give(applied(c, v, with_numbers(op_kind::leaky_relu, slope)));
        return;
    }
    const view below = applied(c, applied(c, applied(c, v, op_kind::negate, ".negate"), op_kind::relu, ".below"),
                               op_kind::negate, ".back");
    const view sloped = channel_affine(c, below, &c.fixed(1), nullptr);
    c.give(combined(c, applied(c, v, op_kind::relu, ".above"), sloped, op_kind::add));
}

TESSERA_INLINE void dropout(call& c) {
    double ratio = c.number_at(1, 0.5);
    c.require(c.n.outputs.size() < 2 || c.n.outputs[1].empty() || c.t.readers.count(c.n.outputs[1]) == 0,
              "it gives out its mask");
    c.require(ratio >= 0 && ratio < 1, "its ratio is not from 0 to less than 1");
    const double percent = std::min(std::nearbyint(ratio * 100), 99.0);
    if (std::abs(percent - ratio * 100) > 1e-4) {
        c.t.note("a dropout of " + fixed_text(ratio * 100) + " % is " + std::to_string(static_cast<int>(percent)) +
                 " % in the network");
    }
    c.give(percent == 0
               ? c.data(0)
               : applied(c, c.data(0),
                         attributes_of(op_kind::dropout, op::dropout_attributes{static_cast<index_t>(percent)})));
}

TESSERA_INLINE void cast(call& c) {
    const auto to = static_cast<data_type>(c.integer("to", 0));
    const bool integers = c.t.w.node_at(c.data(0).node).type == element::i32;
    c.require(integers ? to == data_type::i32 || to == data_type::i64 : tessera::onnx::is_number(to),
              "it makes integers of numbers, numbers of integers, or what is neither");
    c.give(c.data(0));
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
