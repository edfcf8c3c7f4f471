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

/// One tile for every part that overlaps the region, if all of them have exactly the region; empty otherwise.
template <class Options>
std::vector<int> lowering<Options>::equal_parts(const located& from, const box& region) const {
    std::vector<int> result;
    std::vector<char> seen(at(from.parts), 0);
    for (const piece& p : from.pieces) {
        if (seen[at(p.part)] != 0 || intersect(p.region, region).empty()) {
            continue;
        }
        if (!(p.region == region)) {
            return {};
        }
        seen[at(p.part)] = 1;
        result.push_back(p.tile);
    }
    return result;
}

/// The tile with a shard's intermediate or its gradient, summed over all parts.
template <class Options>
int lowering<Options>::need_intermediate(intermediate_pieces& from, tile_kind kind, int op, int o, const shard& s,
                                         pass what) {
    const box region = region_of(op, o, s);
    const std::size_t before = p_.tiles.size();
    located slices = sum_in_slices(from, kind, op, o, region, what);
    const int t = need(slices.parts > 0 ? slices : from.made, from.gathered, region, s.device, -1, kind,
                       op * max_operands + o, desc(op).operands[o].type, op, what);
    for (std::size_t i = before; i < p_.tiles.size(); ++i) {
        p_.tiles[i].replica = replica_of(op, s);
    }
    return t;
}

/// All shards that made a part of a region need the sum. Where they lie on many devices each device sums a slice for all (reduce-scatter, then all-gather): 2 (n - 1) times
/// the region's bytes move, not n (n - 1). Nothing if each sums for itself: few devices, for which a second message costs more than it saves.
template <class Options>
located lowering<Options>::sum_in_slices(intermediate_pieces& from, tile_kind kind, int op, int o, const box& region,
                                         pass what) {
    constexpr int few = 4;
    if (from.made.parts <= few) {
        return {};
    }
    located slices;
    slices.parts = 1;
    index_t known = 0;
    for (const gathered_tile& x : from.slices) {
        if (region.contains(x.region)) {
            slices.pieces.push_back({x.region, x.device, 0, x.tile});
            known += x.region.volume();
        }
    }
    if (known == region.volume()) {
        return slices;
    }
    slices.pieces.clear();
    std::vector<int> devices;
    std::vector<char> has_device(at(p_.devices), 0);
    for (const int t : equal_parts(from.made, region)) {
        const int device = tile_at(t).device;
        if (has_device[at(device)] == 0) {
            has_device[at(device)] = 1;
            devices.push_back(device);
        }
    }
    const int n = static_cast<int>(devices.size());
    if (n <= few) {
        return {};
    }
    int longest = 0;
    for (int d = 1; d < region.rank; ++d) {
        longest = region.dim[d].size() > region.dim[longest].size() ? d : longest;
    }
    for (int i = 0; i < n; ++i) {
        const interval own = even_part(region.dim[longest].size(), n, i);
        box slice = region;
        slice.dim[longest] = {region.dim[longest].begin + own.begin, region.dim[longest].begin + own.end};
        if (!own.empty()) {
            const int device = devices[at(i)];
            const int t = need(from.made, from.slices, slice, device, -1, kind, op * max_operands + o,
                               desc(op).operands[o].type, op, what);
            slices.pieces.push_back({slice, device, 0, t});
        }
    }
    return slices;
}

/// The state of an intermediate that a shard takes part in.
template <class Options>
intermediate_state& lowering<Options>::intermediate(int op, int which, const shard& s) {
    intermediate_list& all = is_joint(op) ? joint_intermediates_ : intermediates_;
    std::size_t i = 0;
    while (i < all.size() && all[i].first != op * max_operands + which) {
        ++i;
    }
    if (i == all.size()) {
        all.push_back({op * max_operands + which, {}});
    }
    std::vector<intermediate_state>& states = all[i].second;
    if (states.empty()) {
        states.resize(takes_own_statistics(op) ? at(config(op).degree[statistics_loop(desc(op))]) : 1);
    }
    return states[at(replica_of(op, s))];
}

} // namespace tessera::detail
