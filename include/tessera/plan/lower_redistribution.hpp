// SPDX-License-Identifier: Apache-2.0
// Lowering of redistribution: the copies that bring pieces of a tensor to where they are needed.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// Copies a whole tile to another.
template <class Options>
void lowering<Options>::add_copy(int op, pass what, int from, int to) {
    const bool moves = tile_at(from).device >= 0 && tile_at(from).device != tile_at(to).device;
    p_.moved_bytes += moves ? tile_at(to).elements * bytes_of(tile_at(to).type) : 0;
    task& copy = add_task(task_kind::copy, op, what, 0, tile_at(to).device);
    copy.writes = {to};
    copy.reads = {from};
    copy.segments.push_back({from, tile_at(to).region, true});
}

/// The tile that holds `region` of a tensor on a device: a piece that is there already, one gathered before, or a new one that a
/// copy task fills. `part` asks for one part of a partial tensor instead of the sum.
template <class Options>
int lowering<Options>::need(located& from, std::vector<gathered_tile>& cache, const box& region, int device, int part,
                            tile_kind kind, int tensor, element type, int op, pass what) {
    if (from.parts == 1 || part >= 0) {
        for (const piece& p : from.pieces) {
            if (p.device == device && p.region == region && (part < 0 || p.part == part)) {
                return p.tile;
            }
        }
    }
    for (const gathered_tile& c : cache) {
        if (c.device == device && c.region == region && c.part == part) {
            return c.tile;
        }
    }
    const std::vector<piece>& sources = from.pieces;
    const gather plan_of = gather_into(sources, region, device, device, part);
    if (plan_of.segments.size() == 1) { // all there is of it is here already: a gradient of this device's samples
        const piece& only = sources[at(plan_of.segments[0].source)];
        if (only.device == device && only.region == region) {
            return only.tile;
        }
    }
    const int t = add_tile(kind, tensor, region, device, type);
    if (region.empty()) { // an input of a concatenation of which a shard needs nothing
        cache.push_back({region, device, part, t});
        return t;
    }
    tile_at(t).part = part;
    task& copy = add_task(task_kind::copy, op, what, 0, device);
    copy.clear = plan_of.clear;
    copy.reduce = from.reduce;
    copy.writes.push_back(t);
    for (const segment& seg : plan_of.segments) {
        const piece& source = sources[at(seg.source)];
        copy.segments.push_back({source.tile, seg.region, seg.first});
        copy.reads.push_back(source.tile);
        if (source.device != device && source.device >= 0) {
            p_.moved_bytes += seg.region.volume() * bytes_of(type);
        }
    }
    cache.push_back({region, device, part, t});
    return t;
}

template <class Options>
int lowering<Options>::need_value(int tensor, const box& region, const shard& s, int op, pass what) {
    return need(values_[at(tensor)], gathered_values_[at(tensor)], region, s.device,
                config(op).partial > 1 ? s.part : -1, tile_kind::activation, tensor, g_.tensors[tensor].type, op, what);
}

template <class Options>
intermediate_state& lowering<Options>::intermediate(int op, int which) {
    auto& all = is_joint(op) ? joint_intermediates_ : intermediates_;
    for (auto& [key, state] : all) {
        if (key == op * max_operands + which) {
            return state;
        }
    }
    all.push_back({op * max_operands + which, {}});
    return all.back().second;
}

} // namespace tessera::detail
