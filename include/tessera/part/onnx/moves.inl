// SPDX-License-Identifier: Apache-2.0
// Bodies of moves.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/moves.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE void say_samples(const call& c, const view& v, std::vector<index_t>& said) {
    bool names_them = !c.t.one_sample || said.empty();
    for (const index_t e : said) {
        names_them = names_them || (e > 0 && e % c.t.samples == 0) || e > INT32_MAX;
    }
    if (names_them) {
        return;
    }
    index_t before = 1; // indices of what is outside of the samples
    int at = -1;        // their dimension, or that which they are part of
    for (int d = 0; d < v.rank() && at < 0; ++d) {
        for (const atom& a : v.dim(d)) {
            if (a == atom{0, 1, v.base[0]}) {
                at = d;
                break;
            }
            before *= a.size;
        }
    }
    if (before == 1) {
        said[0] *= said[0] > 0 ? c.t.samples : 1;
        return;
    }
    std::size_t next = 0;
    index_t passed = 1;
    while (next < said.size() && passed < before && said[next] > 0) {
        if (__builtin_mul_overflow(passed, said[next++], &passed)) {
            return;
        }
    }
    if (passed != before) {
        return;
    }
    // They are a dimension of their own (1), or part of the first that what is behind them is split into, or part of
    // the last before them, where what is behind stays or is put together.
    const std::size_t behind = to_size(v.rank() - 1 - at);
    const bool own = next < said.size() && said[next] == 1;
    const bool belongs_before = !own && said.size() - next <= behind;
    const bool into_next = !belongs_before && next < said.size() && said[next] > 0;
    said[into_next ? next : next - 1] *= c.t.samples;
}

TESSERA_INLINE void give_reshaped(call& c, const view& from, const std::vector<index_t>& extents) {
    view v = from;
    if (elements_of(extents) != elements_of(v.extents())) {
        throw cannot_say{"its shape has other elements than its input"};
    }
    if (!reshape_view(v, extents)) { // what is mixed becomes one dimension first, if the samples are apart from it
        c.require(from.samples() == 0, "it mixes dimensions that do not divide each other");
        v = from;
        atoms rest;
        for (int d = 1; d < from.rank(); ++d) {
            rest.insert(rest.end(), from.dim(d).begin(), from.dim(d).end());
        }
        v.dims = {from.dim(0), merged(rest)};
        v = c.t.w.whole(v, c.name);
        c.require(reshape_view(v, extents), "it mixes its samples with other dimensions");
    }
    c.give(v);
}

TESSERA_INLINE void reshape(call& c) {
    const view& v = c.data(0);
    std::vector<index_t> said = c.list(1);
    const std::vector<index_t> have = v.extents();
    for (std::size_t d = 0; d < said.size() && c.integer("allowzero", 0) == 0; ++d) {
        said[d] = said[d] == 0 && d < have.size() ? have[d] : said[d];
    }
    say_samples(c, v, said);
    give_reshaped(c, v, folding::said_extents(said, have, true));
}

TESSERA_INLINE joined_inputs inputs_to_join(const call& c, int rank, int axis) {
    joined_inputs x;
    for (std::size_t k = 0; k < c.in.size(); ++k) {
        if (c.is_constant(k)) {
            const constant& fixed = c.fixed(k);
            c.require(fixed.rank() == rank && !fixed.whole,
                      "a constant beside its tensors has another number of dimensions, or is of integers");
            x.fixed.emplace_back(x.total, &fixed);
            x.total += fixed.extents[to_size(axis)];
            continue;
        }
        x.tensors.push_back(c.data(k));
        c.require(x.tensors.back().rank() == rank, "its inputs have different numbers of dimensions");
        x.places.push_back(x.total);
        x.total += x.tensors.back().extent(axis);
    }
    return x;
}

TESSERA_INLINE constant table_beside(const call& c, const constant& x, const std::vector<index_t>& extents, int axis,
                                     index_t first) {
    constant table;
    table.extents = extents;
    table.numbers.assign(to_size(elements_of(table.extents, most_elements(0))), 0.0F);
    index_walk walk(table.extents);
    std::vector<index_t> part = table.extents;
    part[to_size(axis)] = x.extents[to_size(axis)];
    for (std::size_t d = 0; d < part.size(); ++d) {
        c.require(x.extents[d] == part[d] || x.extents[d] == 1,
                  "a constant beside its tensor is not of the shape of one sample");
    }
    for (float& y : table.numbers) {
        const index_t i = walk.at(to_size(axis)) - first;
        if (i >= 0 && i < part[to_size(axis)]) {
            index_t place = 0;
            for (std::size_t d = 0; d < part.size(); ++d) {
                const index_t own_index = static_cast<int>(d) == axis ? i : walk.at(d);
                place = place * x.extents[d] + (x.extents[d] == 1 ? 0 : own_index);
            }
            y = x.numbers[to_size(place)];
        }
        walk.next();
    }
    table.name = x.name;
    return table;
}

TESSERA_INLINE int join(call& c, std::vector<int> reads, int axis) {
    while (reads.size() > 1) {
        std::vector<int> rounds;
        for (std::size_t i = 0; i < reads.size(); i += max_inputs) {
            const std::vector<int> some(
                reads.begin() + static_cast<std::ptrdiff_t>(i),
                reads.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(i + max_inputs, reads.size())));
            rounds.push_back(
                some.size() == 1
                    ? some[0]
                    : c.t.w.add(c.name, attributes_of(op_kind::concat, op::concat_attributes{axis}), some).node);
        }
        reads = rounds;
    }
    return reads[0];
}

TESSERA_INLINE void concat(call& c) {
    int rank = 0;
    for (const value& v : c.in) {
        rank = v.is == value::kind::data ? v.v.rank() : rank;
    }
    c.require(rank > 0, "none of its inputs is computed of the model's inputs");
    const int axis = c.axis(c.integer("axis", 0), rank);
    const joined_inputs in = inputs_to_join(c, rank, axis);
    const std::vector<int> order = samples_first(c, in.tensors[0]);
    const std::vector<int> back = inverse_of(order);
    const int at = back[to_size(axis)];
    c.require(at != 0, "it joins samples");
    std::vector<int> reads;
    for (const view& v : in.tensors) {
        c.require(v.samples() == order[0], "the samples of its inputs are different dimensions");
        reads.push_back(c.t.w.whole(v.permuted(order), c.name).node);
    }
    if (in.fixed.empty()) {
        const int joined = join(c, reads, at);
        c.give(view::of(joined, c.t.w.node_at(joined).extents).permuted(back));
        return;
    }
    c.require(in.tensors.size() == 1, "constants stand between its tensors");
    op::pad_attributes own;
    own.before[at] = in.places[0];
    own.after[at] = in.total - in.places[0] - in.tensors[0].extent(axis);
    view padded =
        c.t.w.add(c.name + ".pad", attributes_of(op_kind::pad, own), std::vector<int>{reads[0]}).permuted(back);
    for (const auto& [first, x] : in.fixed) {
        std::vector<index_t> extents = padded.extents();
        extents[to_size(order[0])] = 1;
        const constant table = table_beside(c, *x, extents, axis, first);
        if (!x->name.empty()) {
            c.t.note("the initializer " + x->name +
                     " is beside a tensor: a table that is zero elsewhere is added and trained");
        }
        padded = add_table(c, padded, table);
    }
    c.give(padded);
}

TESSERA_INLINE void split(call& c) {
    const view v = c.data(0);
    const int axis = c.axis(c.integer("axis", 0), v.rank());
    const index_t extent = v.extent(axis);
    std::vector<index_t> parts = c.attribute_or_input("split", 1);
    const auto count = static_cast<index_t>(c.n.outputs.size());
    const index_t each = (extent + count - 1) / std::max<index_t>(count, 1);
    for (index_t left = extent; parts.size() < c.n.outputs.size(); left -= each) {
        parts.push_back(std::min(each, left));
    }
    c.require(parts.size() == c.n.outputs.size(), "it has not a part for each of its outputs");
    index_t first = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        c.require(parts[k] > 0 && parts[k] <= extent - first, "its parts are not its input");
        std::vector<folding::span_of> spans;
        for (const index_t e : v.extents()) {
            spans.push_back({0, e, 1});
        }
        spans[to_size(axis)] = {first, parts[k], 1};
        first += parts[k];
        if (c.t.readers.count(c.n.outputs[k]) > 0) {
            c.give(part_of(c, v, spans), k);
        }
    }
}

TESSERA_INLINE void pad(call& c) {
    const view& v = c.data(0);
    const std::vector<index_t> pads = c.list(1);
    const std::vector<index_t> axes = c.has(3) ? c.list(3) : std::vector<index_t>{};
    const std::size_t count = c.has(3) ? axes.size() : to_size(v.rank());
    c.require(c.text("mode", "constant") == "constant" && c.number_at(2, 0) == 0,
              "it repeats what is inside, or pads with another number than 0");
    c.require(pads.size() == 2 * count, "its pads are not two for each dimension");
    const std::vector<int> order = samples_first(c, v);
    const std::vector<int> back = inverse_of(order);
    c.require(v.rank() <= max_rank, "its input has more than 5 dimensions");
    op::pad_attributes own;
    bool any = false;
    for (std::size_t k = 0; k < count; ++k) {
        const int d = back[to_size(c.has(3) ? c.axis(axes[k], v.rank()) : static_cast<int>(k))];
        own.before[d] = pads[k];
        own.after[d] = pads[count + k];
        c.require(own.before[d] >= 0 && own.after[d] >= 0 && (d != 0 || (own.before[d] == 0 && own.after[d] == 0)),
                  "it takes away, or pads the samples");
        any = any || own.before[d] + own.after[d] > 0;
    }
    if (!any) {
        c.give(v);
        return;
    }
    c.give(c.t.w.add(c.name, attributes_of(op_kind::pad, own), c.t.w.whole(v.permuted(order), c.name)).permuted(back));
}

TESSERA_INLINE void expand(call& c) {
    view v = c.data(0);
    std::vector<index_t> said = c.list(1);
    while (to_size(v.rank()) < said.size()) {
        v.dims.insert(v.dims.begin(), atoms{});
    }
    const std::vector<index_t> out = broadcast_extents(v.extents(), said);
    if (out == v.extents()) {
        c.give(v);
        return;
    }
    const std::vector<int> order = samples_first(c, v);
    c.require(order.size() <= max_rank && out[to_size(order[0])] == v.base[0],
              "it repeats samples, or has more than 5 dimensions");
    op::broadcast_to_attributes own;
    own.rank = static_cast<index_t>(order.size()) - 1;
    for (std::size_t k = 1; k < order.size(); ++k) {
        own.extent[k - 1] = out[to_size(order[k])];
    }
    c.give(c.t.w.add(c.name, attributes_of(op_kind::broadcast_to, own), c.t.w.whole(v.permuted(order), c.name))
               .permuted(inverse_of(order)));
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
