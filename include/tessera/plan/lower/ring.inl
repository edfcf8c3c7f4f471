// SPDX-License-Identifier: Apache-2.0
// Bodies of ring.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/forward.hpp"
#include "tessera/plan/lower/ring.hpp"

#include <algorithm>

namespace tessera::lowering {

TESSERA_INLINE bool goes_round(const lowering_input& in, int op) {
    return in.config(op).ring && in.config(op).degree[in.desc(op).find_loop(loop_name::position)] > 1;
}

TESSERA_INLINE std::vector<key_ring> rings_of(const lowering_input& in, const micro_batch_places& m, int op) {
    const description& d = in.desc(op);
    const int queries = d.find_loop(loop_name::position);
    const std::vector<shard>& all = m.shards[to_size(op)];
    std::vector<key_ring> rings;
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
        if (in.is_empty(all[to_size(i)], op)) {
            continue;
        }
        const auto shares = [&](const key_ring& r) {
            bool same = true;
            for (int l = 0; l < d.loops.size(); ++l) {
                same = same && (l == queries || all[to_size(r.shards[0])].index[l] == all[to_size(i)].index[l]);
            }
            return same;
        };
        auto r = std::find_if(rings.begin(), rings.end(), shares);
        if (r == rings.end()) {
            r = rings.insert(rings.end(), key_ring{});
        }
        r->shards.push_back(i);
        const int device = all[to_size(i)].device;
        r->at.push_back(device);
        if (std::find(r->devices.begin(), r->devices.end(), device) == r->devices.end()) {
            r->devices.push_back(device);
        }
    }
    for (key_ring& r : rings) {
        note_turns(in, m, op, r);
    }
    return rings;
}

TESSERA_INLINE void note_turns(const lowering_input& in, const micro_batch_places& m, int op, key_ring& r) {
    const description& d = in.desc(op);
    const int queries = d.find_loop(loop_name::position);
    const index_t extent = d.loops[d.find_loop(loop_name::key_position)].extent;
    const int n = r.count();
    for (int s = 0; s < n; ++s) {
        r.keys.push_back(extent == d.loops[queries].extent
                             ? m.shards[to_size(op)][to_size(r.shards[to_size(s)])].ranges[queries]
                             : even_part(extent, n, s));
    }
    r.meets.assign(to_size(n * n), 0);
    r.turns_left.assign(to_size(n), 0);
    r.stops_left.assign(to_size(n), 0);
    for (int piece = 0; piece < n; ++piece) {
        std::vector<int> stops;
        for (int s = 0; s < n; ++s) {
            const shard x = of_piece(in, m, op, r, s, piece);
            // what sees nothing at all has its turn with its own piece, which makes zeros
            if (s != piece && d.seen.row >= 0 && points_of(d.seen, x.ranges) == 0) {
                continue;
            }
            r.meets[to_size(s * n + piece)] = 1;
            ++r.turns_left[to_size(s)];
            if (std::find(stops.begin(), stops.end(), x.device) == stops.end()) {
                stops.push_back(x.device);
            }
        }
        r.stops_left[to_size(piece)] = static_cast<int>(stops.size());
    }
}

TESSERA_INLINE shard of_piece(const lowering_input& in, const micro_batch_places& m, int op, const key_ring& r, int s,
                              int piece) {
    shard x = m.shards[to_size(op)][to_size(r.shards[to_size(s)])];
    x.ranges[in.desc(op).find_loop(loop_name::key_position)] = r.keys[to_size(piece)];
    return x;
}

TESSERA_INLINE std::uint32_t keys_and_values(const description& d) {
    const int keys = d.find_loop(loop_name::key_position);
    std::uint32_t all = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        all |= d.operands[o].kind == operand_kind::input && depends(d.operands[o], keys) ? bit(o) : 0;
    }
    return all;
}

TESSERA_INLINE void take_piece(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op,
                               travelling_piece& x, const shard& s, pass what) {
    const description& d = in.desc(op);
    const bool begins = x.device < 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (!has(keys_and_values(d), o)) {
            continue;
        }
        const int tensor = in.g.ops[op].inputs[d.operands[o].slot];
        const box region = in.region_of(op, o, s);
        if (begins) {
            x.tile[o] = need_value(in, m, out, tensor, region, s, op, what);
            continue;
        }
        int same = -1; // keys and values may be one tensor
        for (int other = 0; other < o; ++other) {
            const bool goes = has(keys_and_values(d), other);
            same = goes && in.g.ops[op].inputs[d.operands[other].slot] == tensor && out[x.tile[other]].region == region
                       ? other
                       : same;
        }
        if (same >= 0) {
            x.tile[o] = x.tile[same];
            continue;
        }
        gathered_list taken;
        located from;
        from.pieces = {{region, x.device, 0, x.tile[o]}};
        from.parts = 1;
        x.tile[o] = need(out, from, taken, {tile_kind::activation, tensor, in.g.tensors[tensor].type, region, s.device},
                         op, what);
    }
    x.device = s.device;
}

TESSERA_INLINE void forward_round(const lowering_input& in, network_places& net, micro_batch_places& m,
                                  plan_writer& out, int op, pass what) {
    const description& d = in.desc(op);
    std::uint32_t written = 0;
    std::uint32_t read = 0;
    for (const nest& n : d.nests) {
        written |= bit(n.write);
        read |= n.reads;
    }
    for (const key_ring& r : rings_of(in, m, op)) {
        std::vector<travelling_piece> pieces(to_size(r.count()));
        std::vector<operand_tiles> made(to_size(r.count()));
        std::vector<int> turns(to_size(r.count()), 0);
        go_round(
            r,
            [&](int piece, int s) {
                take_piece(in, m, out, op, pieces[to_size(piece)], of_piece(in, m, op, r, s, piece), what);
            },
            [&](int s, int piece) {
                const shard x = of_piece(in, m, op, r, s, piece);
                const bool first = turns[to_size(s)] == 0;
                operand_tiles value;
                for (int o = 0; o < d.operands.size(); ++o) {
                    if (has(written, o) && first) {
                        made[to_size(s)][o] = output_tile(in, net, m, out, op, o, x);
                    }
                    value[o] = has(written, o)              ? made[to_size(s)][o]
                               : !has(read, o)              ? -1
                               : has(keys_and_values(d), o) ? pieces[to_size(piece)].tile[o]
                                                            : read_tile(in, net, m, out, op, o, x, what);
                }
                task& t = add_compute(in, out, op, what, r.shards[to_size(s)], x, 0, d.nests.size() - 1);
                t.mutable_compute().value = value;
                t.mutable_compute().turn = turns[to_size(s)]++;
                for (int o = 0; o < d.operands.size(); ++o) {
                    if (has(written, o)) {
                        t.writes.push_back(value[o]);
                    }
                    if ((has(written, o) && !first) || (!has(written, o) && has(read, o))) {
                        t.reads.push_back(value[o]);
                    }
                }
            },
            [](int, int, bool) {});
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
