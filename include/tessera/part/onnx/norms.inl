// SPDX-License-Identifier: Apache-2.0
// Bodies of norms.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/norms.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE std::vector<parameter_source> gamma_and_beta(const call& c, index_t count) {
    std::vector<parameter_source> sources{as_it_is(c, "weight", c.fixed(1))};
    if (c.has(2)) {
        sources.push_back(as_it_is(c, "bias", c.fixed(2)));
    } else {
        sources.push_back({"bias", "", {count}, std::vector<float>(to_size(count), 0.0F)});
    }
    for (const parameter_source& s : sources) {
        c.require(static_cast<index_t>(s.numbers.size()) == count,
                  "its scale or bias has not a number for each channel");
    }
    return sources;
}

TESSERA_INLINE void batch_norm(call& c) {
    const view& v = c.data(0);
    c.require(v.rank() >= 2, "its input has no channels");
    for (std::size_t k = 1; k < c.n.outputs.size(); ++k) {
        c.require(c.n.outputs[k].empty() || c.t.readers.count(c.n.outputs[k]) == 0, "it gives out its statistics");
    }
    const index_t channels = v.extent(1);
    std::vector<parameter_source> sources = gamma_and_beta(c, channels);
    const constant& mean = c.fixed(3);
    const constant& variance = c.fixed(4);
    parameter_source statistics{"statistics", mean.name, {2, channels}, numbers_of(c, mean)};
    const std::vector<float>& second = numbers_of(c, variance);
    c.require(static_cast<index_t>(mean.size()) == channels && mean.size() == variance.size(),
              "its mean or variance has not a number for each channel");
    statistics.numbers.insert(statistics.numbers.end(), second.begin(), second.end());
    sources.push_back(std::move(statistics));
    op::batch_norm_attributes own;
    own.epsilon = c.number("epsilon", 1e-5);
    own.momentum = 1 - c.number("momentum", 0.9); // the weight of the newest; ONNX says that of the old ones
    view image = v;
    if (v.rank() == 3) {
        image.dims.emplace_back();
    }
    const view read = c.t.w.whole(image, c.name);
    const constant& gamma = c.fixed(1);
    view out = layer(c, c.layer_name(gamma), attributes_of(op_kind::batch_norm, own), {read.node}, std::move(sources));
    out.dims.resize(v.dims.size());
    c.give(out);
}

TESSERA_INLINE void layer_norm(call& c) {
    const view& v = c.data(0);
    const int axis = c.axis(c.integer("axis", -1), v.rank());
    c.require(c.n.outputs.size() < 2 || c.t.readers.count(c.n.outputs[1]) == 0, "it gives out its mean");
    const double epsilon = c.number("epsilon", 1e-5);
    if (axis == v.rank() - 1) {
        const regrouped rows = rows_of(c, v);
        const op_attributes a = attributes_of(op_kind::layer_norm, op::layer_norm_attributes{epsilon});
        c.give(rows.back(layer(c, c.layer_name(c.fixed(1)), a, {rows.read.node}, gamma_and_beta(c, v.extent(axis)))));
        return;
    }
    c.require(axis == 1 && v.rank() == 4, "it is over several dimensions that are not all of an image");
    const view read = c.t.w.whole(v, c.name);
    std::vector<parameter_source> sources = gamma_and_beta(c, read.base.volume() / read.base[0]);
    for (parameter_source& s : sources) {
        s.extents = {read.base[1], read.base[2], read.base[3]};
    }
    c.give(layer(c, c.layer_name(c.fixed(1)),
                 attributes_of(op_kind::image_layer_norm, op::image_norm_attributes{epsilon}), {read.node},
                 std::move(sources)));
}

TESSERA_INLINE void image_norm(call& c) {
    const view& v = c.data(0);
    const double epsilon = c.number("epsilon", 1e-5);
    c.require(v.rank() == 3 || v.rank() == 4, "its input is no image");
    view image = v;
    if (v.rank() == 3) {
        image.dims.emplace_back();
    }
    const view read = c.t.w.whole(image, c.name);
    op_attributes a = attributes_of(op_kind::instance_norm, op::image_norm_attributes{epsilon});
    if (c.n.type == "GroupNormalization") {
        const index_t groups = c.integer("num_groups", 0);
        c.require(c.t.opset >= 21 || groups == read.base[1],
                  "before opset 21 its scale has a number for each group; export the model with opset 21");
        a = attributes_of(op_kind::group_norm, op::group_norm_attributes{epsilon, groups});
    }
    a.frozen = c.fixed(1).name.empty();
    view out = layer(c, c.layer_name(c.fixed(1)), a, {read.node}, gamma_and_beta(c, read.base[1]));
    out.dims.resize(v.dims.size());
    c.give(out);
}

TESSERA_INLINE void softmax(call& c) {
    const bool causal = c.in[0].is == value::kind::causal;
    view v = causal ? c.in[0].v : c.data(0);
    const int axis = c.axis(c.integer("axis", -1), v.rank());
    c.require(!causal || (axis == v.rank() - 1 && v.samples() == 0 && (v.rank() == 3 || v.rank() == 4)),
              "a causal mask is added to what is no attention");
    std::vector<int> order;
    for (int d = 0; d < v.rank(); ++d) {
        if (d != axis) {
            order.push_back(d);
        }
    }
    order.push_back(axis);
    v = v.permuted(order);
    op_attributes a = attributes_of(op_kind::softmax, op::softmax_attributes{causal});
    view out{-1, {}, {}};
    if (causal || (v.is_whole() && v.rank() <= 4)) {
        out = c.t.w.add(c.name, a, c.t.w.whole(v, c.name));
    } else {
        const regrouped rows = rows_of(c, v);
        out = rows.back(c.t.w.add(c.name, a, rows.read));
    }
    out = out.permuted(inverse_of(order));
    c.give(c.n.type == "LogSoftmax" ? applied(c, out, op_kind::log, ".log") : out);
}

TESSERA_INLINE void reduce(call& c) {
    const std::string& type = c.n.type;
    const view& v = c.data(0);
    // Since opset 13 a sum takes its dimensions as an input, the others since 18.
    std::vector<index_t> axes = c.attribute_or_input("axes", 1);
    if (axes.empty() && c.integer("noop_with_empty_axes", 0) != 0) {
        c.give(v);
        return;
    }
    std::vector<char> gone(to_size(v.rank()), axes.empty() ? 1 : 0);
    for (const index_t a : axes) {
        gone[to_size(c.axis(a, v.rank()))] = 1;
    }
    std::vector<int> stays;
    std::vector<int> goes;
    for (int d = 0; d < v.rank(); ++d) {
        c.require(gone[to_size(d)] == 0 || d != v.samples(), "it is over the samples");
        if (d != v.samples() && v.extent(d) > 1) {
            (gone[to_size(d)] != 0 ? goes : stays).push_back(d);
        }
    }
    const bool keeps = c.integer("keepdims", 1) != 0;
    view from = v;
    if (type == "ReduceL2" || type == "ReduceSumSquare") {
        from = applied(c, v, with_numbers(op_kind::power, 2), ".square");
    }
    view out = from;
    if (!goes.empty()) {
        const regrouped g(c, from, {stays, goes});
        const std::string how = type == "ReduceMean"  ? "mean"
                                : type == "ReduceMax" ? "max"
                                : type == "ReduceMin" ? "min"
                                                      : "sum";
        out = g.back(c.t.w.add(c.name, network_writer::named(how + "_over_2"), g.read));
    }
    if (type == "ReduceL2") {
        out = applied(c, out, op_kind::sqrt, ".root");
    }
    std::vector<atoms> dims;
    for (std::size_t d = 0; d < gone.size(); ++d) {
        if (gone[d] == 0) {
            dims.push_back(out.dims[d]);
        } else if (keeps) {
            dims.emplace_back();
        }
    }
    out.dims = dims;
    c.give(out);
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
