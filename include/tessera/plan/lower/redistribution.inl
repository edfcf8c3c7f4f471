// SPDX-License-Identifier: Apache-2.0
// Bodies of redistribution.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/redistribution.hpp"

namespace tessera::lowering {

TESSERA_INLINE int need(plan_writer& out, const located& from, gathered_list& cache, const needed_tile& x, int op,
                        pass what) {
    if (from.parts == 1 || x.summand >= 0) {
        for (const piece& p : from.pieces) {
            if (p.device == x.device && p.region == x.region && (x.summand < 0 || p.summand == x.summand)) {
                return p.tile;
            }
        }
    }
    for (const gathered_tile& c : cache) {
        if (c.device == x.device && c.region == x.region && c.summand == x.summand) {
            return c.tile;
        }
    }
    const std::vector<piece>& sources = from.pieces;
    const copy_recipe plan_of = copy_recipe_for(sources, x.region, x.device, x.device, x.summand);
    if (plan_of.segments.size() == 1) { // all there is of it is here already: a gradient of this device's samples
        const piece& only = sources[to_size(plan_of.segments[0].source)];
        if (only.device == x.device && only.region == x.region) {
            return only.tile;
        }
    }
    const int t = add_tile(out, x.kind, x.tensor, x.region, x.device, x.type);
    cache.push_back({x.region, x.device, x.summand, t});
    if (x.region.empty()) { // an input of a concatenation of which a shard needs nothing
        return t;
    }
    out[t].summand = x.summand;
    task& copy = add_task(out, task_kind::copy, op, what, 0, x.device);
    copy.mutable_copy().clear = plan_of.clear;
    copy.mutable_copy().reduce = from.reduce;
    copy.writes.push_back(t);
    for (const segment& seg : plan_of.segments) {
        const piece& source = sources[to_size(seg.source)];
        copy.mutable_copy().segments.push_back({source.tile, seg.region, seg.first});
        copy.reads.push_back(source.tile);
    }
    out.p.moved_bytes += out.images(x.device) * bytes_received(plan_of, sources, x.device, bytes_of(x.type));
    out.unlike = out.unlike || (out.parts > planned_parts && out.in_part() % plan_of.turns != 0);
    return t;
}

TESSERA_INLINE std::vector<int> equal_parts(const located& from, const box& region) {
    std::vector<int> result;
    std::vector<char> seen(to_size(from.parts), 0);
    for (const piece& p : from.pieces) {
        if (seen[to_size(p.summand)] != 0 || intersect(p.region, region).empty()) {
            continue;
        }
        if (!(p.region == region)) {
            return {};
        }
        seen[to_size(p.summand)] = 1;
        result.push_back(p.tile);
    }
    return result;
}

TESSERA_INLINE int need_value(const lowering_input& in, micro_batch_places& m, plan_writer& out, int tensor,
                              const box& region, const shard& s, int op, pass what) {
    const int part = in.config(op).partial > 1 ? s.summand : -1;
    return need(out, m.values[to_size(tensor)], m.gathered_values[to_size(tensor)],
                {tile_kind::activation, tensor, in.g.tensors[tensor].type, region, s.device, part}, op, what);
}

TESSERA_INLINE intermediate_state& intermediate_of(const lowering_input& in, network_places& net, micro_batch_places& m,
                                                   int op, int which, const shard& s) {
    intermediate_list& all = in.is_joint(op) ? net.joint_intermediates : m.intermediates;
    std::size_t i = 0;
    while (i < all.size() && all[i].first != op * max_operands + which) {
        ++i;
    }
    if (i == all.size()) {
        all.push_back({op * max_operands + which, {}});
    }
    std::vector<intermediate_state>& states = all[i].second;
    if (states.empty()) {
        const bool apart = in.takes_own_statistics(op);
        states.resize(apart ? to_size(in.config(op).degree[statistics_loop(in.desc(op))]) : 1);
    }
    return states[to_size(in.replica_of(op, s))];
}

TESSERA_INLINE std::vector<int> spread_order(int n) {
    int step = n * 5 / 8; // about the golden section
    while (std::gcd(step, n) > 1) {
        ++step;
    }
    std::vector<int> order;
    for (int i = 0; i < n; ++i) {
        order.push_back(static_cast<int>(index_t{i} * step % n));
    }
    return order;
}

TESSERA_INLINE located known_sums(const gathered_list& sums, const box& region) {
    located known;
    index_t missing = region.volume();
    for (const gathered_tile& s : sums) {
        const index_t common = intersect(s.region, region).volume();
        bool apart = true;
        bool again = false; // the same elements on another device
        for (std::size_t i = 0; i < known.pieces.size() && common > 0; ++i) {
            apart = apart && intersect(known.pieces[i].region, s.region).empty();
            again = again || known.pieces[i].region == s.region;
        }
        if (common > 0 && (apart || again)) {
            known.pieces.push_back({s.region, s.device, 0, s.tile});
            missing -= again ? 0 : common;
        }
    }
    known.parts = missing == 0 ? 1 : 0;
    return known;
}

TESSERA_INLINE located sum_slices(plan_writer& out, const located& from, gathered_list& sums, needed_tile x,
                                  const std::vector<int>& devices, int op, pass what) {
    const box whole = x.region;
    int longest = 0;
    for (int d = 1; d < whole.rank; ++d) {
        longest = whole.dim[d].size() > whole.dim[longest].size() ? d : longest;
    }
    located slices;
    slices.parts = 1;
    const int n = static_cast<int>(devices.size());
    for (const int i : spread_order(n)) {
        const interval own = even_part(whole.dim[longest].size(), n, i);
        if (own.empty()) {
            continue;
        }
        x.region.dim[longest] = {whole.dim[longest].begin + own.begin, whole.dim[longest].begin + own.end};
        x.device = devices[to_size(i)];
        slices.pieces.push_back({x.region, x.device, 0, need(out, from, sums, x, op, what)});
    }
    return slices;
}

TESSERA_INLINE located sum_in_slices(plan_writer& out, intermediate_pieces& from, const needed_tile& x, int op,
                                     pass what) {
    constexpr int few = 4;
    if (from.made.parts <= few) {
        return {};
    }
    if (located known = known_sums(from.slices, x.region); known.parts > 0) {
        return known;
    }
    std::vector<int> devices;
    std::vector<char> has_device(to_size(out.p.devices), 0);
    for (const int t : equal_parts(from.made, x.region)) {
        const int device = out[t].device;
        if (has_device[to_size(device)] == 0) {
            has_device[to_size(device)] = 1;
            devices.push_back(device);
        }
    }
    return static_cast<int>(devices.size()) <= few ? located{}
                                                   : sum_slices(out, from.made, from.slices, x, devices, op, what);
}

TESSERA_INLINE int need_intermediate(const lowering_input& in, plan_writer& out, intermediate_pieces& from,
                                     tile_kind kind, int op, int which, const shard& s, pass what) {
    const needed_tile x{kind, op * max_operands + which, in.desc(op).operands[which].type, in.region_of(op, which, s),
                        s.device};
    const int before = out.tile_count();
    const located slices = sum_in_slices(out, from, x, op, what);
    const int t = need(out, slices.parts > 0 ? slices : from.made, from.gathered, x, op, what);
    for (int i = before; i < out.tile_count(); ++i) {
        out[i].replica = in.replica_of(op, s);
        out[i].micro_batch = in.is_joint(op) ? -1 : out[i].micro_batch;
    }
    return t;
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
