// SPDX-License-Identifier: Apache-2.0
// Lowering of the backward pass: which gradients flow, the tasks that make them, and what each contributes to.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// True where gradients of weights can wait until the inputs' are done: no gradient of an intermediate needs the same sums.
template <class Options>
bool lowering<Options>::splits_backward(int op) const {
    for (const operand& x : desc(op).operands) {
        if (x.kind == operand_kind::intermediate && x.differentiable) {
            return false;
        }
    }
    return true;
}

template <class Options>
bool lowering<Options>::has_gradient(int op) const {
    const int out = g_.ops[op].output;
    return needs_gradient_[at(out)] != 0 && (!gradients_[at(out)].pieces.empty() || g_.is_loss(op));
}

template <class Options>
void lowering<Options>::backward(int op, backward_part part) {
    if (part == backward_part::weight && (!has_gradient(op) || !splits_backward(op))) {
        finish_parameters(op); // there is nothing that has waited
        return;
    }
    if (!has_gradient(op)) {
        part == backward_part::all ? finish_parameters(op) : void();
        return;
    }
    if (g_.facts(op).passes_gradient) {
        part == backward_part::weight ? void() : pass_gradient(op);
        return;
    }
    for (int k = desc(op).nests.size() - 1; k >= 0; --k) {
        backward_nests(op, k, part);
    }
    if (part != backward_part::input) {
        finish_parameters(op);
    }
}

/// What of the gradients comes from nest `k`.
template <class Options>
void lowering<Options>::backward_nests(int op, int k, backward_part part) {
    const description& d = desc(op);
    const bool splits = part != backward_part::all && splits_backward(op);
    std::uint32_t wanted = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        wanted |= gradient_nest(d, o) == k && is_wanted(op, o) ? bit(o) : 0;
    }
    const std::uint32_t weights = wanted & gradients_of(d, k, false);
    const std::uint32_t inputs = wanted & gradients_of(d, k, true);
    if (weights != 0 && !(splits && part == backward_part::input)) {
        backward_nest(op, k, weights, pass::backward_weight);
    }
    if (inputs != 0 && part != backward_part::weight) {
        backward_nest(op, k, inputs, g_.ops[op].parameters.empty() ? pass::backward : pass::backward_input);
    }
}

/// All micro-batches leave their part of the statistics' gradient before the first one's input has its own.
template <class Options>
void lowering<Options>::backward_jointly(int op) {
    for (int k = desc(op).nests.size() - 1; k >= 0; --k) {
        for_each_together([&] { has_gradient(op) ? backward_nests(op, k, backward_part::all) : void(); });
    }
    for_each_together([&] { finish_parameters(op); });
}

template <class Options>
bool lowering<Options>::is_wanted(int op, int o) const {
    const operand& x = desc(op).operands[o];
    switch (x.kind) {
    case operand_kind::input:
        return needs_gradient_[at(g_.ops[op].inputs[x.slot])] != 0;
    case operand_kind::parameter:
        return g_.parameters[g_.ops[op].parameters[x.slot]].trained;
    case operand_kind::intermediate:
        return x.differentiable;
    default:
        return false;
    }
}

template <class Options>
int lowering<Options>::output_gradient(int op, const shard& s, pass what) {
    const int out = g_.ops[op].output;
    return need(gradients_[at(out)], gathered_gradients_[at(out)], region_of(op, desc(op).output(), s), s.device, -1,
                tile_kind::gradient, out, g_.tensors[out].type, op, what);
}

/// The gradient of an addition or a flattening is its output's.
template <class Options>
void lowering<Options>::pass_gradient(int op) {
    const description& d = desc(op);
    const auto& all = shards_[at(op)];
    for (const shard& s : all) {
        if (is_empty(s, op)) {
            continue;
        }
        const int source = output_gradient(op, s, pass::backward);
        for (int o = 0; o < d.operands.size(); ++o) {
            if (d.operands[o].kind != operand_kind::input || !is_wanted(op, o)) {
                continue;
            }
            const int tensor = g_.ops[op].inputs[d.operands[o].slot];
            const box region = region_of(op, o, s);
            const int t = add_tile(tile_kind::gradient, tensor, region, s.device, g_.tensors[tensor].type);
            tile_at(t).alias = source;
            contribution_keys_.resize(p_.tiles.size(), -1);
            contribute(gradients_[at(tensor)], op, o, s, region, t);
        }
    }
}

/// Registers a shard's contribution to a gradient: a summand of its own, except that replicas (and the shards that pass
/// different parts of a partial tensor, whose gradients are equal) are copies of one.
template <class Options>
void lowering<Options>::contribute(located& to, int op, int o, const shard& s, const box& region, int t) {
    const index_t side = tile_at(t).kind == tile_kind::parameter_gradient && is_mirrored() ? 32768 : 0;
    const bool joint = tile_at(t).micro_batch < 0; // every micro-batch has a part of its own
    const index_t key =
        ((joint ? index_t{micro_batch_} << 32U : 0) + index_t{op} * max_operands + o) * 65536 + side + s.box_index;
    int part = -1;
    for (std::size_t i = 0; i < to.pieces.size(); ++i) {
        if (contribution_keys_[at(to.pieces[i].tile)] == key) {
            part = to.pieces[i].part;
        }
    }
    if (part < 0) {
        part = to.parts++;
    }
    if (contribution_keys_.size() < p_.tiles.size()) {
        contribution_keys_.resize(p_.tiles.size(), -1);
    }
    int own = t;
    if (contribution_keys_[at(t)] >= 0 && contribution_keys_[at(t)] != key) {
        // The same tile contributes twice (x + x): the second time under a name of its own.
        own = add_tile(tile_at(t).kind, tile_at(t).tensor, region, s.device, tile_at(t).type);
        tile_at(own).alias = t;
        contribution_keys_.resize(p_.tiles.size(), -1);
    }
    contribution_keys_[at(own)] = key;
    tile_at(own).part = part;
    to.pieces.push_back({region, s.device, part, own});
}

template <class Options>
void lowering<Options>::backward_nest(int op, int k, std::uint32_t emits, pass what) {
    const description& d = desc(op);
    const auto& all = shards_[at(op)];
    for (std::size_t i = 0; i < all.size(); ++i) {
        const shard& s = all[i];
        if (is_empty(s, op)) {
            continue;
        }
        const bool first = is_first_part(s, d);
        std::uint32_t own = 0;
        std::uint32_t reads = 0;
        for (int o = 0; o < d.operands.size(); ++o) {
            if (has(emits, o) && (first || !d.operands[o].additive) && !region_of(op, o, s).empty()) {
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
        for (int o = 0; o < d.operands.size(); ++o) {
            value[o] = has(reads, o) ? read_tile(op, o, s, what) : -1;
            gradient[o] = -1;
            if (value[o] >= 0) {
                read_list.push_back(value[o]);
            }
        }
        if (!g_.is_loss(op)) {
            gradient[d.output()] = output_gradient(op, s, what);
            read_list.push_back(gradient[d.output()]);
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            const bool flows = d.operands[o].kind == operand_kind::intermediate && d.operands[o].differentiable;
            if (flows && !has(own, o) && has(d.operands[first_of(own)].gradient_reads, o)) {
                gradient[o] = need_intermediate(intermediate(op, o, s).gradients, tile_kind::intermediate_gradient, op,
                                                o, s, what);
                read_list.push_back(gradient[o]);
            }
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            if (has(own, o)) {
                gradient[o] = emit(op, o, static_cast<int>(i), s);
                write_list.push_back(gradient[o]);
            }
        }
        task& t = add_compute(op, what, static_cast<int>(i), s, k, k);
        t.emits = own;
        t.reads = static_cast<std::vector<int>&&>(read_list);
        t.writes = static_cast<std::vector<int>&&>(write_list);
        for (int o = 0; o < max_operands; ++o) {
            t.value[o] = o < d.operands.size() ? value[o] : -1;
            t.gradient[o] = o < d.operands.size() ? gradient[o] : -1;
        }
        for (const auto& [to, from] : sums_) {
            add_sum(op, pass::backward_weight, static_cast<int>(i), s.device, {to, from}, to);
        }
        sums_.clear();
    }
}

template <class Options>
int lowering<Options>::emit(int op, int o, int number, const shard& s) {
    const operand& x = desc(op).operands[o];
    const box region = region_of(op, o, s);
    if (x.kind == operand_kind::input) {
        const int tensor = g_.ops[op].inputs[x.slot];
        const int t = add_tile(tile_kind::gradient, tensor, region, s.device, g_.tensors[tensor].type);
        contribute(gradients_[at(tensor)], op, o, s, region, t);
        return t;
    }
    if (x.kind == operand_kind::parameter) {
        return emit_parameter(op, o, number, s);
    }
    const int t = add_tile(tile_kind::intermediate_gradient, op * max_operands + o, region, s.device, x.type);
    tile_at(t).replica = replica_of(op, s);
    contribute(intermediate(op, o, s).gradients.made, op, o, s, region, t);
    return t;
}

/// The first micro-batch's gradient is where the others' are added.
template <class Options>
int lowering<Options>::emit_parameter(int op, int o, int number, const shard& s) {
    const int parameter = g_.ops[op].parameters[desc(op).operands[o].slot];
    const box region = region_of(op, o, s);
    const int t = add_tile(tile_kind::parameter_gradient, parameter, region, s.device, element::f32);
    for (const accumulator& a : accumulators_[at(op)]) {
        if (a.operand == o && a.shard_number == number && a.mirrored == is_mirrored()) {
            sums_.push_back({a.tile, t});
            return t;
        }
    }
    if (p_.micro_batches > 1) {
        accumulators_[at(op)].push_back({o, number, is_mirrored(), t});
    }
    tile_at(t).keep = keeps_gradients();
    contribute(parameter_gradients_[at(parameter)], op, o, s, region, t);
    return t;
}

} // namespace tessera::detail
