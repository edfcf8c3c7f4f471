// SPDX-License-Identifier: Apache-2.0
// The plan that lowering appends tiles and tasks to.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/input.hpp"

namespace tessera::lowering {

/// A plan that grows. What is appended is counted to the micro-batch and the step at hand.
struct plan_writer {
    plan p;
    int micro_batch = 0;
    int step = 0;          ///< of the plan's period
    int message_count = 0; ///< messages among several members so far

    const tile& operator[](int t) const { return p.tiles[at(t)]; }
    tile& operator[](int t) { return p.tiles[at(t)]; }
    int tile_count() const { return static_cast<int>(p.tiles.size()); }
};

/// A region of a tensor, or of what else has elements (see tile), to be put on a device.
inline int add_tile(plan_writer& out, tile_kind kind, int tensor, const box& region, int device, element type) {
    const bool lasts = is_persistent(kind) || kind == tile_kind::input;
    tile t;
    t.kind = kind;
    t.tensor = tensor;
    t.region = region;
    t.device = device;
    t.type = type;
    t.elements = region.volume();
    t.micro_batch = lasts ? 0 : out.micro_batch;
    t.step = lasts ? 0 : out.step;
    out.p.tiles.push_back(t);
    return out.tile_count() - 1;
}

/// A slice of a parameter's summed gradient.
inline int add_slice_tile(plan_writer& out, int parameter, const box& region, int device, int slice, int slices) {
    const int t = add_tile(out, tile_kind::parameter_gradient, parameter, region, device, element::f32);
    out[t].slice = slice;
    out[t].slices = slices;
    out[t].elements = even_part(region.volume(), slices, slice).size();
    return t;
}

/// An intermediate of a shard of an operator, or its gradient; a joint one is of no micro-batch, but of all.
inline int add_intermediate(const lowering_input& in, plan_writer& out, tile_kind kind, int op, int which,
                            const box& region, int device, element type) {
    const int t = add_tile(out, kind, op * max_operands + which, region, device, type);
    out[t].micro_batch = in.is_joint(op) ? -1 : out[t].micro_batch;
    return t;
}

inline task& add_task(plan_writer& out, task_kind kind, int op, pass what, int shard_number, int device) {
    task t;
    t.kind = kind;
    t.op = op;
    t.what = what;
    t.shard_number = shard_number;
    t.micro_batch = out.micro_batch;
    t.step = out.step;
    t.device = device;
    out.p.tasks.push_back(t);
    return out.p.tasks.back();
}

/// Nests `first` to `last` of a shard.
inline task& add_compute(const lowering_input& in, plan_writer& out, int op, pass what, int number, const shard& s,
                         int first, int last) {
    const description& d = in.desc(op);
    task& t = add_task(out, task_kind::compute, op, what, number, s.device);
    t.first_nest = first;
    t.last_nest = last;
    t.first_part = is_first_part(s, d) && s.part == 0;
    for (int l = 0; l < max_loops; ++l) {
        t.ranges[l] = s.ranges[l];
    }
    t.samples = in.takes_own_statistics(op) ? s.ranges[statistics_loop(d)].size() : 0;
    return t;
}

/// Copies a whole tile to another.
inline void add_copy(plan_writer& out, int op, pass what, int from, int to) {
    const bool moves = out[from].device >= 0 && out[from].device != out[to].device;
    out.p.moved_bytes += moves ? out[to].elements * bytes_of(out[to].type) : 0;
    task& copy = add_task(out, task_kind::copy, op, what, 0, out[to].device);
    copy.writes = {to};
    copy.reads = {from};
    copy.segments.push_back({from, out[to].region, true});
}

/// A task that writes the sum of some tiles of its device to another.
inline int add_sum(plan_writer& out, int op, pass what, int shard_number, int device, const std::vector<int>& from,
                   int to) {
    task& t = add_task(out, task_kind::sum, op, what, shard_number, device);
    t.reads = from;
    t.writes = {to};
    return to;
}

/// Counts elements of gradients or parameters that a device takes from, or hands to, tiles of others.
inline void count_moved(plan_writer& out, const std::vector<int>& tiles, int device, index_t elements) {
    for (int t : tiles) {
        out.p.moved_bytes += out[t].device != device ? elements * 4 : 0;
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
