// SPDX-License-Identifier: Apache-2.0
// Bodies of plan_writer.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/plan_writer.hpp"

namespace tessera::lowering {

TESSERA_INLINE int add_tile(plan_writer& out, tile_kind kind, int tensor, const box& region, int device, element type) {
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

TESSERA_INLINE int add_slice_tile(plan_writer& out, int parameter, const box& region, int device, int slice,
                                  int slices) {
    const int t = add_tile(out, tile_kind::parameter_gradient, parameter, region, device, element::f32);
    out[t].slice = slice;
    out[t].slices = slices;
    out[t].elements = even_part(region.volume(), slices, slice).size();
    return t;
}

TESSERA_INLINE int add_intermediate(const lowering_input& in, plan_writer& out, tile_kind kind, int op, int which,
                                    const box& region, int device, element type) {
    const int t = add_tile(out, kind, op * max_operands + which, region, device, type);
    out[t].micro_batch = in.is_joint(op) ? -1 : out[t].micro_batch;
    return t;
}

TESSERA_INLINE task& add_task(plan_writer& out, task_kind kind, int op, pass what, int shard_number, int device) {
    task t;
    t.become(kind);
    t.op = op;
    t.what = what;
    t.shard_number = shard_number;
    t.micro_batch = out.micro_batch;
    t.step = out.step;
    t.device = device;
    out.p.tasks.push_back(t);
    return out.p.tasks.back();
}

TESSERA_INLINE task& add_compute(const lowering_input& in, plan_writer& out, int op, pass what, int number,
                                 const shard& s, int first, int last) {
    const description& d = in.desc(op);
    task& t = add_task(out, task_kind::compute, op, what, number, s.device);
    t.mutable_compute().first_nest = first;
    t.mutable_compute().last_nest = last;
    t.mutable_compute().first_part = is_first_part(s, d) && s.summand == 0;
    for (int l = 0; l < max_loops; ++l) {
        t.mutable_compute().ranges[l] = s.ranges[l];
    }
    t.mutable_compute().samples = in.takes_own_statistics(op) ? s.ranges[statistics_loop(d)].size() : 0;
    return t;
}

TESSERA_INLINE void add_copy(plan_writer& out, int op, pass what, int from, int to) {
    const bool moves = out[from].device >= 0 && out[from].device != out[to].device;
    out.p.moved_bytes += moves ? out.images(out[to].device) * out[to].elements * bytes_of(out[to].type) : 0;
    task& copy = add_task(out, task_kind::copy, op, what, 0, out[to].device);
    copy.writes = {to};
    copy.reads = {from};
    copy.mutable_copy().segments.push_back({from, out[to].region, true});
}

TESSERA_INLINE int add_sum(plan_writer& out, int op, pass what, int shard_number, int device,
                           const std::vector<int>& from, int to) {
    task& t = add_task(out, task_kind::sum, op, what, shard_number, device);
    t.reads = from;
    t.writes = {to};
    return to;
}

TESSERA_INLINE void count_moved(plan_writer& out, const std::vector<int>& tiles, int device, index_t elements) {
    for (int t : tiles) {
        out.p.moved_bytes += out[t].device != device ? elements * 4 : 0;
    }
}

TESSERA_INLINE index_t elements_of_images(const plan_writer& out, int device, const slice_number& x) {
    index_t all = 0;
    for (int k = 0; k < out.images(device); ++k) {
        all += even_part(x.volume, x.slices, x.slices > 1 && k > 0 ? x.slice + k * (x.slices / out.parts) : x.slice)
                   .size();
    }
    return all;
}

TESSERA_INLINE void count_exchanged(plan_writer& out, const std::vector<int>& tiles, int device,
                                    const slice_number& x) {
    index_t others = 0;
    for (const int t : tiles) {
        const bool of_all = x.slices > 1 && out[t].slices == 1;
        others += (of_all ? out.images(out[t].device) : 1) - (out[t].device == device ? 1 : 0);
    }
    out.p.moved_bytes += others * elements_of_images(out, device, x) * 4;
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
