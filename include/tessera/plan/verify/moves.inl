// SPDX-License-Identifier: Apache-2.0
// Bodies of moves.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/moves.hpp"

namespace tessera::detail {

TESSERA_INLINE bool verifier::moves() {
    for (int i = 0; i < static_cast<int>(p_.tiles.size()); ++i) {
        if (!type_is_sound(p_.tiles[to_size(i)])) {
            return refuse(nullptr, "tile " + std::to_string(i) + " has elements of another type than its tensor");
        }
        if (p_.tiles[to_size(i)].alias >= 0 && !alias_is_sound(i)) {
            return refuse(nullptr, "tile " + std::to_string(i) + " is another name for what it is not");
        }
        if (p_.tiles[to_size(i)].origin >= 0 && !origin_is_sound(p_.tiles[to_size(i)])) {
            return refuse(nullptr, "tile " + std::to_string(i) + " repeats what it is not");
        }
    }
    for (const task& t : p_.tasks) {
        if ((t.kind() == task_kind::copy && !copy_is_sound(t)) ||
            (t.kind() == task_kind::reorder && !reorder_is_sound(t))) {
            return false;
        }
        const bool moves = t.kind() != task_kind::compute;
        bool touches = false;
        for (int o = 0; o < max_operands && moves; ++o) {
            touches = touches || t.compute().value[o] >= 0 || t.compute().gradient[o] >= 0;
        }
        if (touches || (moves && (t.compute().running >= 0 || t.compute().workspace >= 0 || t.compute().emits != 0)) ||
            (t.kind() != task_kind::copy && !t.copy().segments.empty())) {
            return refuse(&t, "a task that computes nothing has operands");
        }
    }
    return true;
}

/// Elements are of their tensor's type; between the nests of an operator a backend may have a type of its own.
TESSERA_INLINE bool verifier::type_is_sound(const tile& x) const {
    switch (x.kind) {
    case tile_kind::input:
    case tile_kind::activation:
    case tile_kind::gradient:
        return x.type == (parameter_in(x) >= 0 ? element::f32 : g_.tensors[x.tensor].type);
    case tile_kind::intermediate:
    case tile_kind::intermediate_gradient:
        return x.type == element::f32 ||
               (parameter_in(x) < 0 && x.type == desc(x.tensor / max_operands).operands[x.tensor % max_operands].type);
    case tile_kind::scalar:
        return x.type == (is_count(x) ? element::f32 : element::f64);
    default:
        return x.type == element::f32;
    }
}

/// A tile that repeats another one's elements, region by region.
TESSERA_INLINE bool verifier::origin_is_sound(const tile& x) const {
    const tile& from = p_.tiles[to_size(x.origin)];
    const bool kept = from.kind == tile_kind::parameter
                          ? x.kind == tile_kind::activation && x.micro_batch == 0
                          : x.kind == from.kind && x.micro_batch == from.micro_batch && x.step == from.step;
    return kept && from.origin < 0 && x.tensor == from.tensor && x.summand == from.summand &&
           x.replica == from.replica && x.type == from.type && x.slices == 1 && from.slices == 1 &&
           from.region.contains(x.region);
}

/// Another name: for the same elements; for the input of a flattening; for the gradient that an addition or a
/// flattening passes on; or for what the activation after a computation writes in its place.
TESSERA_INLINE bool verifier::alias_is_sound(int i) const {
    const tile& x = p_.tiles[to_size(i)];
    const tile& b = p_.tiles[to_size(x.alias)];
    const bool taken_in = b.kind == tile_kind::activation && b.summand < 0 && g_.tensors[b.tensor].producer < 0;
    if (x.device != b.device || x.type != b.type || x.step != b.step || (x.micro_batch != b.micro_batch && !taken_in) ||
        (x.format == 0 && b.format == 0 && x.elements != b.elements) || x.kind != b.kind || x.offset != b.offset ||
        x.bytes != b.bytes || x.slices != 1 || b.slices != 1 ||
        (x.kind != tile_kind::activation && x.kind != tile_kind::gradient) || parameter_in(b) >= 0) {
        return false;
    }
    if (x.tensor == b.tensor) {
        return x.region == b.region && x.summand == b.summand;
    }
    const bool forward = x.kind == tile_kind::activation;
    const tile& in = forward ? b : x;
    const tile& out = forward ? x : b;
    const int op = g_.tensors[out.tensor].producer;
    if (op < 0) {
        return false;
    }
    const auto& inputs = g_.ops[op].inputs;
    const bool reads = std::find(inputs.begin(), inputs.end(), in.tensor) != inputs.end();
    const op_facts& facts = g_.facts(op);
    bool same_place = facts.passes_gradient && !facts.view && in.region == out.region;
    if (facts.view) {
        const description& d = desc(op);
        const loop_ranges ranges = ranges_behind(d, 0, in.region);
        same_place = region(d, 0, ranges.range) == in.region && region(d, d.output(), ranges.range) == out.region &&
                     in.region.volume() == out.region.volume();
    }
    if (!forward) {
        return reads && same_place && is_complete(b);
    }
    if (facts.view) {
        return reads && same_place && (x.summand == b.summand || (x.summand == 0 && is_complete(b)));
    }
    return reads && in.region == out.region && activates_.size() > to_size(i) && activates_[to_size(i)] != 0;
}

/// Notes which tiles an activation writes in the place of what it reads.
TESSERA_INLINE bool verifier::note_activations() {
    activates_.assign(p_.tiles.size(), 0);
    std::vector<int> readers(p_.tiles.size(), 0);
    std::vector<int> writer(p_.tiles.size(), -1);
    bool any = false;
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        const task& t = p_.tasks[to_size(i)];
        any = any || t.compute().fused || t.compute().activates;
        for (const int r : t.reads) {
            ++readers[to_size(r)];
        }
        for (const int w : t.writes) {
            writer[to_size(w)] = i;
        }
    }
    int fused = 0;
    for (const task& t : p_.tasks) {
        if (!t.compute().fused) {
            fused -= t.compute().activates ? 1 : 0;
            continue;
        }
        const bool one = t.kind() == task_kind::compute && t.reads.size() == 1 && t.writes.size() == 1 &&
                         p_.tiles[to_size(t.writes[0])].alias == t.reads[0] && readers[to_size(t.reads[0])] == 1;
        const int before = one ? writer[to_size(t.reads[0])] : -1;
        if (before < 0 || !p_.tasks[to_size(before)].compute().activates ||
            p_.tasks[to_size(before)].device != t.device) {
            return refuse(&t, "a task leaves its work to one that does not do it");
        }
        activates_[to_size(t.writes[0])] = 1;
        ++fused;
    }
    return !any || fused == 0 || refuse(nullptr, "a task does the work of another one, which does it too");
}

/// A copy brings parts of one tensor together, or elements of a parameter or an input to where they are read.
TESSERA_INLINE bool verifier::copy_is_sound(const task& t) {
    const tile& to = p_.tiles[to_size(t.writes[0])];
    std::vector<int> sources;
    reducer how = reducer::sum;
    if (to.kind == tile_kind::intermediate && to.origin < 0 && parameter_in(to) < 0) {
        const description& d = desc(to.tensor / max_operands);
        for (const nest& n : d.nests) {
            how = n.write == to.tensor % max_operands && n.reduce == reducer::max ? reducer::max : how;
        }
    }
    const bool sums_parts = is_partial_sum(p_, t);
    for (std::size_t i = 0; i < t.copy().segments.size(); ++i) {
        const copy_segment& s = t.copy().segments[i];
        sources.push_back(s.source);
        if (!is_same(p_.tiles[to_size(s.source)], to) &&
            !(sums_parts && same_but_part(p_.tiles[to_size(s.source)], to))) {
            return refuse(&t, "a copy reads another tensor than it writes, or another part, micro-batch or step of it");
        }
        if (!s.overwrite && t.copy().reduce != how) {
            return refuse(&t, "a copy puts parts together in another way than their operator does");
        }
        const auto before = t.copy().segments.begin() + static_cast<std::ptrdiff_t>(i);
        if (s.overwrite && std::any_of(t.copy().segments.begin(), before, [&](const copy_segment& other) {
                return !other.overwrite && !intersect(s.region, other.region).empty();
            })) {
            return refuse(&t, "a copy overwrites what it has added already");
        }
    }
    return (t.writes.size() == 1 && lists_are(t, sources, t.writes)) || refuse_lists(t);
}

/// The same, of another part.
TESSERA_INLINE bool verifier::same_but_part(const tile& from, const tile& to) const {
    tile other = from;
    other.summand = to.summand;
    return is_same(other, to);
}

/// True where elements of `from` are elements of `to`, or parts of them.
TESSERA_INLINE bool verifier::is_same(const tile& from, const tile& to) const {
    const int parameter = parameter_in(to);
    if (parameter >= 0) { // in the step that reads it
        return parameter_in(from) == parameter && from.slices == 1 && to.slices == 1 &&
               to.kind != tile_kind::parameter && (from.kind == tile_kind::parameter || from.step == to.step);
    }
    if (from.kind == tile_kind::input) {
        const bool gradient = p_.output_gradient >= 0 && from.tensor == p_.output_gradient;
        return gradient ? to.kind == tile_kind::gradient && to.tensor == g_.ops[g_.op_count - 1].output
                        : to.kind == tile_kind::activation && to.tensor == from.tensor && to.summand <= 0;
    }
    const bool taken_in = from.kind == tile_kind::activation && g_.tensors[from.tensor].producer < 0;
    const bool of_sums = from.kind == tile_kind::intermediate || from.kind == tile_kind::intermediate_gradient;
    const bool part = to.summand < 0 || from.summand == to.summand || taken_in;
    const bool of_parameter = from.kind == tile_kind::parameter_gradient; // a sum over micro-batches
    return parameter_in(from) < 0 && from.kind == to.kind && from.tensor == to.tensor && part &&
           (from.micro_batch == to.micro_batch || taken_in || of_parameter) && (from.step == to.step || taken_in) &&
           (!of_sums || from.replica == to.replica) && from.kind != tile_kind::scratch &&
           from.kind != tile_kind::optimizer_state && from.kind != tile_kind::parameter;
}

TESSERA_INLINE bool verifier::reorder_is_sound(const task& t) {
    const tile& from = p_.tiles[to_size(t.reads[0])];
    const tile& to = p_.tiles[to_size(t.writes[0])];
    const bool same = to.origin == t.reads[0] || (from.origin >= 0 && to.origin == from.origin);
    return (t.reads.size() == 1 && t.writes.size() == 1 && same && from.device == to.device &&
            from.region == to.region && from.type == to.type && to.alias < 0 &&
            (from.kind != tile_kind::parameter || to.step == t.step)) ||
           refuse(&t, "a reorder changes more than the memory format");
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
