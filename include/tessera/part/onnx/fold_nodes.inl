// SPDX-License-Identifier: Apache-2.0
// Bodies of fold_nodes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold_nodes.hpp"

namespace tessera::onnx::folding {

TESSERA_INLINE constant shape_of(const call& c) {
    const std::vector<index_t> all = c.is_constant(0) ? c.fixed(0).extents : c.data(0).extents();
    if (c.n.type == "Size") {
        return integers_of({elements_of(all, INT64_MAX)}, false);
    }
    const span_of s = slice_of(static_cast<index_t>(all.size()), c.integer("start", 0), c.integer("end", INT64_MAX), 1);
    return integers_of({all.begin() + s.first, all.begin() + s.first + s.count});
}

TESSERA_INLINE constant constant_node(const call& c) {
    if (const attribute* a = c.find("value")) {
        constant out = constant_of(a->value);
        out.name.clear();
        return out;
    }
    if (const attribute* a = c.find("value_int")) {
        return integers_of({a->integer}, false);
    }
    if (const attribute* a = c.find("value_ints")) {
        return integers_of(a->integers);
    }
    constant out;
    const attribute* one = c.find("value_float");
    const attribute* many = c.find("value_floats");
    c.require(one != nullptr || many != nullptr, "its value is neither numbers nor integers");
    out.numbers = one != nullptr ? std::vector<float>{one->number} : many->numbers;
    out.extents =
        one != nullptr ? std::vector<index_t>{} : std::vector<index_t>{static_cast<index_t>(out.numbers.size())};
    return out;
}

TESSERA_INLINE constant constant_of_shape(const call& c) {
    constant one;
    if (const attribute* a = c.find("value")) {
        one = constant_of(a->value);
        c.require(one.size() == 1, "its value is not one number");
    } else {
        one.numbers = {0};
    }
    one.extents = {};
    one.name.clear();
    return broadcast_constant(one, c.list(0));
}

TESSERA_INLINE constant trilu(const call& c) {
    constant out = c.fixed(0);
    out.name.clear();
    c.require(out.rank() >= 2, "its input is no matrix");
    const auto k = static_cast<index_t>(c.number_at(1, 0));
    const bool upper = c.integer("upper", 1) != 0;
    index_walk walk(out.extents);
    const std::size_t r = out.extents.size();
    for (std::size_t i = 0; i < out.size(); ++i, walk.next()) {
        const index_t above = walk.at(r - 1) - walk.at(r - 2) - k;
        if (upper ? above < 0 : above > 0) {
            if (out.whole) {
                out.integers[i] = 0;
            } else {
                out.numbers[i] = 0;
            }
        }
    }
    return out;
}

TESSERA_INLINE constant where(const call& c) {
    const constant& which = c.fixed(0);
    const constant& a = c.fixed(1);
    const constant& b = c.fixed(2);
    c.require(a.whole == b.whole, "its inputs are of two types");
    const std::vector<index_t> out = broadcast_extents(which.extents, broadcast_extents(a.extents, b.extents));
    constant x = broadcast_constant(a, out);
    const constant y = broadcast_constant(b, out);
    index_walk walk(out);
    for (std::size_t i = 0; i < x.size(); ++i, walk.next()) {
        if (which.at(walk.in(which.extents)) == 0) {
            x.take(i, y, i);
        }
    }
    return x;
}

TESSERA_INLINE constant scatter(const call& c) {
    constant out = c.fixed(0);
    out.name.clear();
    const constant& index = c.fixed(1);
    const constant& rows = c.fixed(2);
    c.require(c.text("reduction", "none") == "none" && index.whole && index.rank() > 0 && rows.whole == out.whole,
              "it adds, or its indices are no integers");
    const index_t depth = index.extents.back();
    c.require(depth >= 1 && depth <= out.rank(), "its indices have not the dimensions of its input");
    index_t each = 1;
    for (std::size_t d = to_size(depth); d < out.extents.size(); ++d) {
        each *= out.extents[d];
    }
    const index_t count = static_cast<index_t>(index.size()) / depth;
    c.require(static_cast<index_t>(rows.size()) == count * each, "it has not a row for each index");
    for (index_t i = 0; i < count; ++i) {
        index_t place = 0;
        for (index_t d = 0; d < depth; ++d) {
            const index_t extent = out.extents[to_size(d)];
            const index_t x = index.integers[to_size(i * depth + d)];
            c.require(x >= -extent && x < extent, "an index is outside of its input");
            place = place * extent + (x < 0 ? x + extent : x);
        }
        for (index_t k = 0; k < each; ++k) {
            out.take(to_size(place * each + k), rows, to_size(i * each + k));
        }
    }
    return out;
}

TESSERA_INLINE std::optional<constant> arithmetic(const call& c, const constant& x) {
    const std::string& type = c.n.type;
    if (const int which = binary_of(type); which >= 0) {
        c.require(c.in.size() == 2, "it has not two inputs");
        return binary(which, x, c.fixed(1));
    }
    if (const auto function = unary_of(type)) {
        constant y = x;
        y.name.clear();
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double r = function(x.at(i));
            c.require(!y.whole || std::abs(r) < 9e15, "an integer is too large");
            if (y.whole) {
                y.integers[i] = static_cast<std::int64_t>(r);
            } else {
                y.numbers[i] = static_cast<float>(r);
            }
        }
        return y;
    }
    if (type == "Cast") {
        return cast(x, static_cast<data_type>(c.integer("to", 0)));
    }
    if (type == "ReduceProd") {
        c.require(x.whole && x.rank() == 1, "it is no product of a list of integers");
        std::int64_t all = 1;
        for (const std::int64_t i : x.integers) {
            all = binary_integers(2, all, i);
        }
        return integers_of({all}, c.integer("keepdims", 1) != 0);
    }
    return std::nullopt;
}

TESSERA_INLINE std::optional<constant> rearranged(const call& c, const constant& x) {
    const std::string& type = c.n.type;
    if (type == "Slice") {
        return slice(x, slices_of(c, x.extents));
    }
    if (type == "Squeeze") {
        return of_extents(x, squeezed(c, x.extents));
    }
    if (type == "Unsqueeze") {
        return of_extents(x, unsqueezed(c, x.extents));
    }
    if (type == "Flatten") {
        return of_extents(x, flattened(c, x.extents));
    }
    if (type == "Reshape") {
        return of_extents(x, said_extents(c.list(1), x.extents, c.integer("allowzero", 0) != 0));
    }
    if (type == "Transpose") {
        return transposed_constant(x, order_of(c, x.rank()));
    }
    if (type == "Trilu") {
        return trilu(c);
    }
    if (type == "Expand") {
        std::vector<index_t> out = broadcast_extents(x.extents, c.list(1));
        // What is the same for every sample stays one.
        if (!out.empty() && out[0] == c.t.samples && (out.size() > x.extents.size() || x.extents[0] == 1)) {
            out[0] = 1;
        }
        return broadcast_constant(x, out);
    }
    return std::nullopt;
}

TESSERA_INLINE std::optional<constant> assembled(const call& c, const constant& x) {
    const std::string& type = c.n.type;
    if (type == "Gather") {
        return gather(x, c.fixed(1), c.axis(c.integer("axis", 0), x.rank()));
    }
    if (type == "Concat") {
        return concat(c, c.axis(c.integer("axis", 0), x.rank()));
    }
    if (type == "Range") {
        return range(c);
    }
    if (type == "ConstantOfShape") {
        return constant_of_shape(c);
    }
    if (type == "ScatterND") {
        return scatter(c);
    }
    if (type == "Where") {
        return where(c);
    }
    return std::nullopt;
}

} // namespace tessera::onnx::folding

namespace tessera::onnx {

TESSERA_INLINE bool fold(call& c) {
    using namespace folding;
    const std::string& type = c.n.type;
    if (type == "Constant") {
        c.give(c.t.hold(constant_node(c)));
        return true;
    }
    if (type == "Shape" || type == "Size") {
        c.give(c.t.hold(shape_of(c)));
        return true;
    }
    for (std::size_t k = 0; k < c.in.size(); ++k) {
        if (c.has(k) && !c.is_constant(k)) {
            return false;
        }
    }
    if (c.in.empty() || !c.is_constant(0)) {
        return false;
    }
    if (type == "Identity") {
        c.give(c.in[0]); // the same constant, so that parameters are shared
        return true;
    }
    const constant& x = c.fixed(0);
    for (const auto folded : {arithmetic, rearranged, assembled}) {
        if (std::optional<constant> made = folded(c, x)) {
            c.give(c.t.hold(std::move(*made)));
            return true;
        }
    }
    return false;
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
