// SPDX-License-Identifier: Apache-2.0
// Bodies of layers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/layers.hpp"

namespace tessera::onnx {

TESSERA_INLINE const std::vector<float>& numbers_of(const call& c, const constant& x) {
    c.require(!x.whole, "its parameters are integers");
    return x.numbers;
}

TESSERA_INLINE parameter_source as_it_is(const call& c, const char* slot, const constant& x) {
    return {slot, x.name, x.extents, numbers_of(c, x)};
}

TESSERA_INLINE view layer(call& c, const std::string& called, op_attributes a, const std::vector<int>& reads,
                          std::vector<parameter_source> sources) {
    std::string key = record_of(a).name;
    bool named = !sources.empty();
    for (const parameter_source& s : sources) {
        key += std::string("|") + s.slot + "|" + s.from;
        for (const index_t e : s.extents) {
            key += "," + std::to_string(e);
        }
        named = named && !s.from.empty();
    }
    view out = c.t.w.add(called, a, reads);
    const auto found = c.t.layers.find(key);
    if (named && found != c.t.layers.end()) {
        c.t.w.node_at(out.node).parameters_of = found->second;
        return out;
    }
    for (parameter_source& s : sources) {
        if (!s.from.empty() && !c.t.taken.insert(s.from).second) {
            c.t.apart.insert(s.from);
        }
        c.t.w.parameter(out.node, s.slot, s.extents, std::move(s.numbers));
    }
    if (named) {
        c.t.layers[key] = out.node;
    }
    return out;
}

TESSERA_INLINE bool take_bias(call& c, int axis_from_right, index_t extent, parameter_source& to) {
    const node* add = c.n.outputs.empty() ? nullptr : c.only_reader(c.n.outputs[0]);
    if (add == nullptr || add->type != "Add" || add->inputs.size() != 2 || add->outputs.size() != 1) {
        return false;
    }
    const auto other = c.t.values.find(add->inputs[add->inputs[0] == c.n.outputs[0] ? 1 : 0]);
    if (other == c.t.values.end() || other->second.is != value::kind::constant) {
        return false;
    }
    const constant& x = c.t.of(other->second);
    const int at = x.rank() - axis_from_right;
    if (x.whole || x.name.empty() || static_cast<index_t>(x.size()) != extent || at < 0 ||
        x.extents[to_size(at)] != extent || (extent == 1 && x.rank() > axis_from_right)) {
        return false;
    }
    to = {"bias", x.name, {extent}, x.numbers};
    c.t.done[add] = c.n.outputs[0];
    return true;
}

TESSERA_INLINE view channel_affine(call& c, const view& v, const constant* factor, const constant* term) {
    const constant& x = factor != nullptr ? *factor : *term;
    c.require(x.rank() <= v.rank(), "its constant has more dimensions than its tensor");
    const int shift = v.rank() - x.rank();
    std::vector<int> along;
    std::vector<int> others;
    std::vector<index_t> extents(to_size(v.rank()), 1);
    for (int d = 0; d < v.rank(); ++d) {
        const index_t e = d < shift ? 1 : x.extents[to_size(d - shift)];
        c.require(e == 1 || (d != v.samples() && e == v.extent(d)), "its constant is not of the shape of one sample");
        extents[to_size(d)] = e;
        if (d != v.samples()) {
            (e > 1 ? along : others).push_back(d);
        }
    }
    const regrouped g(c, v, {along, others, {}});
    const index_t channels = g.read.base[1];
    op::conv2d_attributes own;
    own.out = own.groups = channels;
    own.bias = term != nullptr;
    op_attributes a = attributes_of(op_kind::conv2d, own);
    std::vector<parameter_source> sources;
    const std::vector<float> ones(to_size(channels), 1.0F);
    sources.push_back(
        {"weight", factor != nullptr ? x.name : "", {channels, 1, 1, 1}, factor != nullptr ? numbers_of(c, x) : ones});
    if (term != nullptr) {
        sources.push_back({"bias", term->name, {channels}, numbers_of(c, *term)});
    }
    a.frozen = x.name.empty();
    return g.back(layer(c,
                        x.name.empty()              ? c.name
                        : c.layer_name(x) == c.name ? x.name
                                                    : c.layer_name(x),
                        a, {g.read.node}, std::move(sources)));
}

TESSERA_INLINE view add_table(call& c, const view& v, const constant& table) {
    for (int m = 0; v.samples() < 0 && m < v.rank();
         ++m) { // samples that are mixed with another dimension, along which nothing differs
        const auto found = std::find(v.dim(m).begin(), v.dim(m).end(), atom{0, 1, v.base[0]});
        if (found == v.dim(m).end() || table.rank() > v.rank()) {
            continue;
        }
        constant longer = table;
        longer.extents.insert(longer.extents.begin(), to_size(v.rank() - table.rank()), 1);
        c.require(longer.extents[to_size(m)] == 1, "its constant is not of the shape of one sample");
        longer.extents.insert(longer.extents.begin() + m, v.dim(m).size() - 1, 1);
        view parts = v;
        parts.dims.erase(parts.dims.begin() + m);
        for (std::size_t k = v.dim(m).size(); k-- > 0;) {
            parts.dims.insert(parts.dims.begin() + m, atoms{v.dim(m)[k]});
        }
        view out = add_table(c, parts, longer);
        atoms all;
        for (std::size_t k = 0; k < v.dim(m).size(); ++k) {
            all.insert(all.end(), out.dims[to_size(m)].begin(), out.dims[to_size(m)].end());
            out.dims.erase(out.dims.begin() + m);
        }
        out.dims.insert(out.dims.begin() + m, merged(all));
        return out;
    }
    c.require(!table.whole, "its constant is of integers");
    c.require(table.rank() <= v.rank(), "its constant has more dimensions than its tensor");
    std::vector<index_t> extents = v.extents();
    const int at = v.samples();
    c.require(at >= 0, "its samples are mixed with another dimension");
    const int shift = v.rank() - table.rank();
    for (int d = shift; d < v.rank(); ++d) {
        const index_t e = table.extents[to_size(d - shift)];
        c.require(e == 1 || (d != at && e == v.extent(d)), "its constant is not of the shape of one sample");
    }
    extents[to_size(at)] = 1;
    const constant all = broadcast_constant(table, extents);
    std::vector<int> rest;
    for (int d = 0; d < v.rank(); ++d) {
        if (d != at && v.extent(d) > 1) {
            rest.push_back(d);
        }
    }
    const std::vector<int> first = rest.size() > 1 ? std::vector<int>{rest[0]} : std::vector<int>{};
    const std::vector<int> second(rest.begin() + static_cast<std::ptrdiff_t>(first.size()), rest.end());
    const regrouped g(c, v, {first, second});
    if (all.size() != table.size() && !table.name.empty()) {
        c.t.note("the initializer " + table.name + " is added in several places, each of which is trained by itself");
    }
    op_attributes a{.kind = op_kind::position_embedding};
    a.frozen = table.name.empty();
    parameter_source p{
        "weight", all.size() == table.size() ? table.name : "", {g.read.base[1], g.read.base[2]}, all.numbers};
    return g.back(layer(c, table.name.empty() ? c.name : table.name, a, {g.read.node}, {std::move(p)}));
}

TESSERA_INLINE view part_of(call& c, view v, const std::vector<folding::span_of>& spans) {
    for (std::size_t d = 0; d < spans.size(); ++d) {
        const folding::span_of& s = spans[d];
        const index_t extent = v.extent(static_cast<int>(d));
        if (s.first == 0 && s.count == extent && s.step == 1) {
            continue;
        }
        if (s.step > 1 && extent % s.step == 0 && s.first < s.step && s.count == extent / s.step) {
            std::vector<index_t> extents = v.extents(); // one index of each group of as many as the step
            extents[d] = s.step;
            extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(d), s.count);
            c.require(reshape_view(v, extents), "it takes some indices of what was put together");
            std::vector<folding::span_of> one;
            for (const index_t e : extents) {
                one.push_back({0, e, 1});
            }
            one[d + 1] = {s.first, 1, 1};
            v = part_of(c, v, one);
            v.dims.erase(v.dims.begin() + static_cast<std::ptrdiff_t>(d) + 1);
            continue;
        }
        c.require(s.step == 1, "its steps do not divide its input, or go in the other direction");
        c.require(s.count > 0, "nothing is left of its input");
        const atoms& dim = v.dims[d];
        c.require(dim != atoms{{0, 1, v.base[0]}}, "it takes some of the samples");
        const int axis = dim[0].axis;
        if (dim.size() > 1 ||
            dim[0].stride * dim[0].size != v.base[axis]) { // the dimension is made one of its own first
            const std::vector<int> order = samples_first(c, v);
            v = c.t.w.whole(v.permuted(order), c.name).permuted(inverse_of(order));
            return part_of(c, v, spans);
        }
        const index_t stride = dim[0].stride;
        const view cut = c.t.w.add(
            c.name, attributes_of(op_kind::slice, op::slice_attributes{s.first * stride, s.count * stride, axis}),
            view::of(v.node, v.base));
        v.node = cut.node;
        v.base = cut.base;
        v.dims[d] = merged({{axis, stride, s.count}});
    }
    return v;
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
