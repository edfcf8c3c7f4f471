// SPDX-License-Identifier: Apache-2.0
// Bodies of products.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/products.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE view fully_connected(call& c, const view& v, const constant& weight, bool transposed,
                                    std::vector<parameter_source> bias) {
    c.require(weight.rank() == 2, "its weight is no matrix");
    const index_t in = weight.extents[transposed ? 1 : 0];
    const index_t out = weight.extents[transposed ? 0 : 1];
    c.require(v.rank() >= 2 && v.extent(v.rank() - 1) == in, "its weight does not fit the features of its input");
    const regrouped rows = rows_of(c, v);
    std::vector<parameter_source> sources{{"weight", weight.name, {out, in}, {}}};
    sources[0].numbers = transposed ? numbers_of(c, weight) : transposed_constant(weight, {1, 0}).numbers;
    c.require(!weight.whole, "its weight is of integers");
    if (!transposed && !weight.name.empty()) {
        sources[0].from += " transposed";
    }
    for (parameter_source& b : bias) {
        sources.push_back(std::move(b));
    }
    const op_attributes a = attributes_of(op_kind::linear, op::linear_attributes{out, sources.size() > 1});
    return rows.back(layer(c, c.layer_name(weight), a, {rows.read.node}, std::move(sources)));
}

TESSERA_INLINE void gemm(call& c) {
    c.require(c.integer("transA", 0) == 0 && c.number("alpha", 1) == 1 && (!c.has(2) || c.number("beta", 1) == 1),
              "its first matrix is transposed, or alpha or beta is not 1");
    const view& v = c.data(0);
    c.require(v.rank() == 2, "its input is no matrix");
    const constant& weight = c.fixed(1);
    c.require(weight.rank() == 2, "its weight is no matrix");
    const bool transposed = c.integer("transB", 0) != 0;
    const index_t out = weight.extents[transposed ? 0 : 1];
    std::vector<parameter_source> bias;
    if (c.has(2)) {
        bias.push_back(as_it_is(c, "bias", c.fixed(2)));
        c.require(static_cast<index_t>(bias[0].numbers.size()) == out, "its bias is no number for each feature");
        bias[0].extents = {out};
    }
    c.give(fully_connected(c, v, weight, transposed, std::move(bias)));
}

TESSERA_INLINE view product(call& c, const view& x, const view& y) {
    c.require(x.rank() == y.rank() && x.rank() >= 3, "its inputs have different numbers of dimensions, or less than 3");
    std::vector<int> heads;
    for (int d = 0; d + 2 < x.rank(); ++d) {
        c.require(x.extent(d) == y.extent(d), "one of its inputs is repeated for the other");
        heads.push_back(d);
    }
    const int r = x.rank();
    // Where the samples alone are before the matrices, there are no heads.
    const bool none = x.rank() == 3 && x.samples() == 0 && y.samples() == 0;
    op::matmul_attributes own;
    const auto side = [&](const view& v, int k) {
        const auto made = [&](bool turned) {
            const int rows = turned ? r - 1 : r - 2;
            const int columns = turned ? r - 2 : r - 1;
            return none ? std::vector<std::vector<int>>{{rows}, {columns}}
                        : std::vector<std::vector<int>>{heads, {rows}, {columns}};
        };
        // A matrix whose columns lie closer together than its rows is read as it is.
        const atoms& last = v.dim(r - 1);
        const atoms& before = v.dim(r - 2);
        own.transposed[k] = !last.empty() && !before.empty() && last.back().axis < before.back().axis;
        return regrouped(c, v, made(own.transposed[k]));
    };
    const regrouped a = side(x, 0);
    const regrouped b = side(y, 1);
    view out = c.t.w.add(c.name, attributes_of(op_kind::matmul, own), {a.read.node, b.read.node});
    // Of the first input's dimensions all but the last stay.
    const regrouped like(c, x,
                         none ? std::vector<std::vector<int>>{{r - 2}, {r - 1}}
                              : std::vector<std::vector<int>>{heads, {r - 2}, {r - 1}});
    return like.back(out);
}

TESSERA_INLINE void matmul(call& c) {
    if (c.is_constant(1)) {
        const constant& weight = c.fixed(1);
        c.require(weight.rank() == 2, "its weight is no matrix");
        std::vector<parameter_source> bias(1);
        if (!take_bias(c, 1, weight.extents[1], bias[0])) {
            bias.clear();
        }
        c.give(fully_connected(c, c.data(0), weight, false, std::move(bias)));
        return;
    }
    c.give(product(c, c.data(0), c.data(1)));
}

TESSERA_INLINE void gather(call& c) {
    if (c.is_constant(0)) {
        const constant& table = c.fixed(0);
        const view& index = c.data(1);
        c.require(c.axis(c.integer("axis", 0), table.rank()) == 0 && table.rank() == 2,
                  "it looks up what is no row of a table");
        c.require(c.t.w.node_at(index.node).is_input && c.t.w.node_at(index.node).type == element::i32,
                  "its indices are no input of the model");
        c.require(index.is_whole() && index.rank() <= 2, "its indices are not [samples] or [samples, positions]");
        const op_attributes a =
            attributes_of(op_kind::embedding, op::embedding_attributes{table.extents[0], table.extents[1]});
        c.give(layer(c, c.layer_name(table), a, {index.node}, {as_it_is(c, "weight", table)}));
        return;
    }
    const view& v = c.data(0);
    const constant& index = c.fixed(1);
    const int d = c.axis(c.integer("axis", 0), v.rank());
    c.require(index.whole && index.size() > 0 && index.rank() <= 1, "its indices are no list of integers");
    std::vector<folding::span_of> spans;
    for (const index_t e : v.extents()) {
        spans.push_back({0, e, 1});
    }
    const index_t extent = v.extent(d);
    const index_t first = index.integers[0];
    for (std::size_t i = 0; i < index.size(); ++i) {
        c.require(index.integers[i] == first + static_cast<index_t>(i), "its indices do not follow each other");
        c.require(index.integers[i] >= -extent && index.integers[i] < extent, "an index is outside of its input");
    }
    c.require(first >= 0 || first + static_cast<index_t>(index.size()) <= 0, "its indices do not follow each other");
    spans[to_size(d)] = {first < 0 ? first + extent : first, static_cast<index_t>(index.size()), 1};
    view out = part_of(c, v, spans);
    if (index.rank() == 0) {
        out.dims.erase(out.dims.begin() + d);
    }
    c.give(out);
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
