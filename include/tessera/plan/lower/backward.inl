// SPDX-License-Identifier: Apache-2.0
// Bodies of backward.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/backward.hpp"
#include "tessera/plan/lower/ring_gradients.hpp"

#include <algorithm>
#include <utility>

namespace tessera::lowering {

TESSERA_INLINE bool splits_backward(const lowering_input& in, int op) {
    if (in.g.facts(op).joint_gradients) {
        return false;
    }
    for (const operand& x : in.desc(op).operands) {
        if (x.kind == operand_kind::intermediate && x.differentiable) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE bool has_gradient(const lowering_input& in, const micro_batch_places& m, int op) {
    const int tensor = in.g.ops[op].output;
    return in.needs_gradient[to_size(tensor)] != 0 &&
           (!m.gradients[to_size(tensor)].pieces.empty() || in.g.is_loss(op));
}

TESSERA_INLINE void sum_first(const lowering_input& in, micro_batch_places& m, plan_writer& out, int tensor, int op,
                              pass what) {
    located& all = m.gradients[to_size(tensor)];
    if (all.summed_first) {
        return;
    }
    all.summed_first = true;
    std::vector<std::vector<int>> holders_of(to_size(all.parts)); // where copies of one part lie, which have one region
    for (const piece& p : all.pieces) {
        holders_of[to_size(p.summand)].push_back(p.device);
    }
    located left;
    std::vector<char> taken(all.pieces.size(), 0);
    for (std::size_t i = 0; i < all.pieces.size(); ++i) {
        const piece& first = all.pieces[i];
        if (taken[i] != 0) {
            continue;
        }
        located own{{}, 0, all.reduce};
        bool meets = false; // parts of others
        const std::vector<int>& holders = holders_of[to_size(first.summand)];
        std::vector<std::size_t> together;
        for (std::size_t k = i; k < all.pieces.size(); ++k) {
            const piece& p = all.pieces[k];
            if (p.device == first.device && p.region == first.region && holders_of[to_size(p.summand)] == holders) {
                const bool again = std::any_of(together.begin(), together.end(), [&](std::size_t other) {
                    return all.pieces[other].summand == p.summand; // a copy on the same device
                });
                together.push_back(k);
                if (!again) {
                    own.pieces.push_back(p);
                    own.pieces.back().summand = own.parts++;
                }
            }
        }
        for (const piece& p : all.pieces) {
            const bool of_ours = std::find(holders.begin(), holders.end(), p.device) != holders.end();
            meets = meets || (!of_ours && !intersect(p.region, first.region).empty());
        }
        if (own.parts == 1 || !meets) {
            left.pieces.push_back(first);
            continue;
        }
        gathered_list made;
        const int sum =
            need(out, own, made, {tile_kind::gradient, tensor, in.g.tensors[tensor].type, first.region, first.device},
                 op, what);
        int least = first.summand;
        for (const std::size_t k : together) {
            taken[k] = 1;
            least = std::min(least, all.pieces[k].summand);
        }
        out[sum].summand = least;
        left.pieces.push_back({first.region, first.device, least, sum});
    }
    all.pieces = std::move(left.pieces);
}

TESSERA_INLINE int output_gradient(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op,
                                   const shard& s, pass what) {
    const int tensor = in.g.ops[op].output;
    if (in.s.sums_first) {
        sum_first(in, m, out, tensor, op, what);
    }
    return need(
        out, m.gradients[to_size(tensor)], m.gathered_gradients[to_size(tensor)],
        {tile_kind::gradient, tensor, in.g.tensors[tensor].type, in.region_of(op, in.desc(op).output(), s), s.device},
        op, what);
}

TESSERA_INLINE void contribute(const lowering_input& in, network_places& net, const micro_batch_places& m,
                               plan_writer& out, located& to, int op, int which, const shard& s, const box& region,
                               int t) {
    std::vector<index_t>& keys = net.contribution_keys;
    keys.resize(out.p.tiles.size(), -1);
    const index_t side = out[t].kind == tile_kind::parameter_gradient && in.is_mirrored(m.number) ? 32768 : 0;
    const bool joint = out[t].micro_batch < 0; // every micro-batch has a part of its own
    const index_t key =
        ((joint ? index_t{m.number} << 32U : 0) + index_t{op} * max_operands + which) * 65536 + side + s.box_index;
    int part = -1;
    for (const piece& p : to.pieces) {
        part = keys[to_size(p.tile)] == key ? p.summand : part;
    }
    if (part < 0) {
        part = to.parts++;
    }
    int own = t;
    if (keys[to_size(t)] >= 0 && keys[to_size(t)] != key) {
        // The same tile contributes twice (x + x): the second time under a name of its own.
        own = add_tile(out, out[t].kind, out[t].tensor, region, s.device, out[t].type);
        out[own].alias = t;
        keys.resize(out.p.tiles.size(), -1);
    }
    keys[to_size(own)] = key;
    out[own].summand = part;
    to.pieces.push_back({region, s.device, part, own});
}

TESSERA_INLINE void pass_gradient(const lowering_input& in, network_places& net, micro_batch_places& m,
                                  plan_writer& out, int op) {
    const description& d = in.desc(op);
    for (const shard& s : m.shards[to_size(op)]) {
        if (in.is_empty(s, op)) {
            continue;
        }
        const int source = output_gradient(in, m, out, op, s, pass::backward);
        for (int o = 0; o < d.operands.size(); ++o) {
            if (d.operands[o].kind != operand_kind::input || !in.is_wanted(op, o)) {
                continue;
            }
            const int tensor = in.g.ops[op].inputs[d.operands[o].slot];
            const box region = in.region_of(op, o, s);
            const int t = add_tile(out, tile_kind::gradient, tensor, region, s.device, in.g.tensors[tensor].type);
            out[t].alias = source;
            contribute(in, net, m, out, m.gradients[to_size(tensor)], op, o, s, region, t);
        }
    }
}

TESSERA_INLINE int emit_parameter(const lowering_input& in, network_places& net, const micro_batch_places& m,
                                  plan_writer& out, int op, int which, int number, const shard& s,
                                  std::vector<waiting_sum>& sums) {
    const int parameter = in.g.ops[op].parameters[in.desc(op).operands[which].slot];
    const box region = in.region_of(op, which, s);
    const bool mirrored = in.is_mirrored(m.number);
    const int t = add_tile(out, tile_kind::parameter_gradient, parameter, region, s.device, element::f32);
    for (const accumulator& a : net.accumulators[to_size(op)]) {
        if (a.operand == which && a.shard_number == number && a.mirrored == mirrored) {
            sums.push_back({a.tile, t});
            return t;
        }
    }
    if (in.s.micro_batches > 1) {
        net.accumulators[to_size(op)].push_back({which, number, mirrored, t});
    }
    out[t].keep =
        in.o.keep_gradients && out.step + 1 == in.steps_per_plan(); // those of the last step can be read afterwards
    contribute(in, net, m, out, net.parameter_gradients[to_size(parameter)], op, which, s, region, t);
    return t;
}

TESSERA_INLINE int emit(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                        int which, int number, const shard& s, std::vector<waiting_sum>& sums) {
    const operand& x = in.desc(op).operands[which];
    if (x.kind == operand_kind::parameter) {
        return emit_parameter(in, net, m, out, op, which, number, s, sums);
    }
    const box region = in.region_of(op, which, s);
    if (x.kind == operand_kind::input) {
        const int tensor = in.g.ops[op].inputs[x.slot];
        const int t = add_tile(out, tile_kind::gradient, tensor, region, s.device, in.g.tensors[tensor].type);
        contribute(in, net, m, out, m.gradients[to_size(tensor)], op, which, s, region, t);
        return t;
    }
    const int t = add_intermediate(in, out, tile_kind::intermediate_gradient, op, which, region, s.device, x.type);
    out[t].replica = in.replica_of(op, s);
    contribute(in, net, m, out, intermediate_of(in, net, m, op, which, s).gradients.made, op, which, s, region, t);
    return t;
}

TESSERA_INLINE void backward_nest(const lowering_input& in, network_places& net, micro_batch_places& m,
                                  plan_writer& out, int op, int k, std::uint32_t emits, pass what) {
    const description& d = in.desc(op);
    const std::vector<shard>& all = m.shards[to_size(op)];
    for (std::size_t i = 0; i < all.size(); ++i) {
        const shard& s = all[i];
        const int number = static_cast<int>(i);
        if (in.is_empty(s, op)) {
            continue;
        }
        const bool first = is_first_part(s, d);
        std::uint32_t own = 0;
        std::uint32_t reads = 0;
        for (int o = 0; o < d.operands.size(); ++o) {
            if (has(emits, o) && (first || !d.operands[o].additive) && !in.region_of(op, o, s).empty()) {
                own |= bit(o);
                reads |= d.operands[o].gradient_reads;
            }
        }
        if (own == 0) {
            continue;
        }
        int value[max_operands];
        int gradient[max_operands];
        std::vector<int> read_list;
        std::vector<int> write_list;
        std::vector<waiting_sum> sums;
        for (int o = 0; o < d.operands.size(); ++o) {
            value[o] = has(reads, o) ? read_tile(in, net, m, out, op, o, s, what) : -1;
            gradient[o] = -1;
            if (value[o] >= 0) {
                read_list.push_back(value[o]);
            }
        }
        if (!in.g.is_loss(op)) {
            gradient[d.output()] = output_gradient(in, m, out, op, s, what);
            read_list.push_back(gradient[d.output()]);
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            const bool flows = d.operands[o].kind == operand_kind::intermediate && d.operands[o].differentiable;
            if (flows && has(reads, o) && gradient_nest(d, o) > k) { // made before, of a nest behind this one
                gradient[o] = need_intermediate(in, out, intermediate_of(in, net, m, op, o, s).gradients,
                                                tile_kind::intermediate_gradient, op, o, s, what);
                read_list.push_back(gradient[o]);
            }
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            if (has(own, o)) {
                gradient[o] = emit(in, net, m, out, op, o, number, s, sums);
                write_list.push_back(gradient[o]);
            }
        }
        task& t = add_compute(in, out, op, what, number, s, k, k);
        t.mutable_compute().emits = own;
        t.reads = std::move(read_list);
        t.writes = std::move(write_list);
        for (int o = 0; o < max_operands; ++o) {
            t.mutable_compute().value[o] = o < d.operands.size() ? value[o] : -1;
            t.mutable_compute().gradient[o] = o < d.operands.size() ? gradient[o] : -1;
        }
        for (const auto& [to, from] : sums) {
            add_sum(out, op, pass::backward_weight, number, s.device, {to, from}, to);
        }
    }
}

TESSERA_INLINE void backward_nests(const lowering_input& in, network_places& net, micro_batch_places& m,
                                   plan_writer& out, int op, int k, backward_part part) {
    const description& d = in.desc(op);
    const bool splits = part != backward_part::all && splits_backward(in, op);
    std::uint32_t wanted = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        wanted |= gradient_nest(d, o) == k && in.is_wanted(op, o) ? bit(o) : 0;
    }
    const std::uint32_t weights = wanted & gradients_of(d, k, false);
    const std::uint32_t inputs = wanted & gradients_of(d, k, true);
    if (in.g.facts(op).joint_gradients && weights != 0 && inputs != 0) {
        return part == backward_part::weight ? void() : backward_nest(in, net, m, out, op, k, wanted, pass::backward);
    }
    if (weights != 0 && !(splits && part == backward_part::input)) {
        backward_nest(in, net, m, out, op, k, weights, pass::backward_weight);
    }
    if (inputs != 0 && part != backward_part::weight) {
        const pass what = in.g.ops[op].parameters.empty() ? pass::backward : pass::backward_input;
        goes_round(in, op) ? backward_round(in, net, m, out, op, k, inputs, what)
                           : backward_nest(in, net, m, out, op, k, inputs, what);
    }
}

TESSERA_INLINE void backward(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out,
                             int op, backward_part part) {
    const bool waits = part == backward_part::weight;
    if (!has_gradient(in, m, op) || (waits && !splits_backward(in, op))) {
        return; // there is nothing, or nothing that has waited
    }
    if (in.g.facts(op).passes_gradient) {
        if (!waits) {
            pass_gradient(in, net, m, out, op);
        }
        return;
    }
    for (int k = in.desc(op).nests.size() - 1; k >= 0; --k) {
        backward_nests(in, net, m, out, op, k, part);
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
