// SPDX-License-Identifier: Apache-2.0
// Bodies of forward.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/forward.hpp"
#include "tessera/plan/lower/ring.hpp"

namespace tessera::lowering {

TESSERA_INLINE bool fuses(const lowering_input& in, int op) {
    for (int k = 0; k + 1 < in.desc(op).nests.size(); ++k) {
        if (in.added_parts(op, k) > 1) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE int own_part(const lowering_input& in, int op, int k, const shard& s) {
    return part_of_nest(s, in.config(op), in.desc(op), k) % in.added_parts(op, k);
}

TESSERA_INLINE int read_tile(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out,
                             int op, int which, const shard& s, pass what) {
    const operand& x = in.desc(op).operands[which];
    switch (x.kind) {
    case operand_kind::input:
        return need_value(in, m, out, in.g.ops[op].inputs[x.slot], in.region_of(op, which, s), s, op, what);
    case operand_kind::parameter:
    case operand_kind::state:
        return parameter_value(in, net, m, out, op, which, s, what);
    case operand_kind::intermediate:
        return need_intermediate(in, out, intermediate_of(in, net, m, op, which, s).values, tile_kind::intermediate, op,
                                 which, s, what);
    case operand_kind::output:
        break;
    }
    const int part = own_part(in, op, in.desc(op).nests.size() - 1, s);
    const box region = in.region_of(op, which, s);
    for (const piece& p : m.values[to_size(in.g.ops[op].output)].pieces) {
        if (p.device == s.device && p.summand == part && p.region == region) {
            return p.tile;
        }
    }
    return -1;
}

TESSERA_INLINE int output_tile(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out,
                               int op, int which, const shard& s) {
    const description& d = in.desc(op);
    const operand& x = d.operands[which];
    const box region = in.region_of(op, which, s);
    int k = 0; // the last nest that writes it
    for (int i = 0; i < d.nests.size(); ++i) {
        k = d.nests[i].write == which ? i : k;
    }
    const bool is_output = x.kind == operand_kind::output;
    const int parts = in.added_parts(op, k);
    const bool joint = in.is_joint(op) && !is_output;
    const int part = own_part(in, op, k, s) + (joint ? m.number * parts : 0);
    const int tensor = in.g.ops[op].output;
    located& where = is_output ? m.values[to_size(tensor)] : intermediate_of(in, net, m, op, which, s).values.made;
    where.parts = joint ? parts * in.s.micro_batches : parts;
    where.reduce = d.nests[k].reduce == reducer::max && !is_output ? reducer::max : reducer::sum;
    const int t = is_output ? add_tile(out, tile_kind::activation, tensor, region, s.device, x.type)
                            : add_intermediate(in, out, tile_kind::intermediate, op, which, region, s.device, x.type);
    out[t].summand = part;
    out[t].replica = is_output ? 0 : in.replica_of(op, s);
    where.pieces.push_back({region, s.device, part, t});
    return t;
}

TESSERA_INLINE void forward_nests(const lowering_input& in, network_places& net, micro_batch_places& m,
                                  plan_writer& out, int op, int first, int last, pass what) {
    const description& d = in.desc(op);
    const std::vector<shard>& all = m.shards[to_size(op)];
    for (std::size_t i = 0; i < all.size(); ++i) {
        const shard& s = all[i];
        if (in.is_empty(s, op)) {
            continue;
        }
        int value[max_operands];
        std::uint32_t written = 0;
        std::uint32_t read = 0;
        for (int k = first; k <= last; ++k) {
            written |= bit(d.nests[k].write);
            read |= d.nests[k].reads;
        }
        if (what == pass::evaluate && d.has_running_state()) {
            read |= bit(d.running_state());
            read &= ~bit(d.find_operand(operand_kind::intermediate, 0));
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            value[o] = has(written, o) ? output_tile(in, net, m, out, op, o, s)
                       : has(read, o)  ? read_tile(in, net, m, out, op, o, s, what)
                                       : -1;
        }
        task& t = add_compute(in, out, op, what, static_cast<int>(i), s, first, last);
        for (int o = 0; o < d.operands.size(); ++o) {
            t.mutable_compute().value[o] = value[o];
            if (has(written, o)) {
                t.writes.push_back(value[o]);
            } else if (has(read, o)) {
                t.reads.push_back(value[o]);
            }
        }
    }
}

TESSERA_INLINE void take_view(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op, pass what) {
    const description& d = in.desc(op);
    const int from = in.g.ops[op].inputs[0];
    const int to = in.g.ops[op].output;
    m.values[to_size(to)].parts = parts_of_nest(in.config(op), d, 0);
    for (const shard& s : m.shards[to_size(op)]) {
        if (in.is_empty(s, op)) {
            continue;
        }
        const int source = need_value(in, m, out, from, in.region_of(op, 0, s), s, op, what);
        const box region = in.region_of(op, d.output(), s);
        const int t = add_tile(out, tile_kind::activation, to, region, s.device, in.g.tensors[to].type);
        out[t].alias = source;
        out[t].summand = part_of_nest(s, in.config(op), d, 0);
        m.values[to_size(to)].pieces.push_back({region, s.device, out[t].summand, t});
    }
}

TESSERA_INLINE void put_away(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op) {
    const int tensor = in.g.ops[op].output;
    for (const piece& p : m.values[to_size(tensor)].pieces) {
        const int t = add_tile(out, tile_kind::activation, tensor, p.region, p.device, out[p.tile].type);
        out[t].summand = out[p.tile].summand;
        out[t].on_host = true;
        add_copy(out, op, pass::forward, p.tile, t);
        m.waiting[to_size(tensor)].push_back({p.region, p.device, p.summand, t});
    }
}

TESSERA_INLINE void forward(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out,
                            int op, bool again) {
    if (in.g.facts(op).view) {
        take_view(in, m, out, op, again ? pass::recompute : pass::forward);
        return;
    }
    const pass what = !in.for_training() ? pass::evaluate : again ? pass::recompute : pass::forward;
    const int nests = in.desc(op).nests.size();
    if (in.desc(op).has_running_state() && (!in.for_training() || in.is_joint(op))) { // with statistics that are there
        forward_nests(in, net, m, out, op, nests - 1, nests - 1, what);
    } else if (goes_round(in, op)) {
        forward_round(in, net, m, out, op, what);
    } else if (fuses(in, op)) {
        forward_nests(in, net, m, out, op, 0, nests - 1, what);
    } else {
        for (int k = 0; k < nests; ++k) {
            forward_nests(in, net, m, out, op, k, k, what);
        }
    }
    if (!again && in.offloads(op) && !(in.s.schedule != nullptr && in.s.schedule->keeps_results(m.number))) {
        put_away(in, m, out, op);
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
