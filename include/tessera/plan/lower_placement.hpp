// SPDX-License-Identifier: Apache-2.0
// Lowering of what lies where before anything is computed: the inputs, and the parameters of every shard.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

template <class Options>
void lowering<Options>::prepare() {
    const bool trains = o_.kind == run_kind::training;
    require(g_, trains ? check_synchronization(g_, s_) : check_modes(g_, s_, modes_of(s_)));
    require(g_, trains ? check_averages(g_, s_, o_.update) : problem{});
    for (int t = 0; t < g_.tensor_count; ++t) {
        const tensor_node& n = g_.tensors[t];
        if (n.producer < 0) {
            const box region = whole(n.extents);
            values_[at(t)].pieces.push_back({region, -1, 0, add_tile(tile_kind::input, t, region, -1, n.type)});
            values_[at(t)].parts = 1;
            p_.tiles.back().part = 0;
            if (s_.parameters_on >= 0 && t != o_.output_gradient) {
                take_in(t);
            }
            const bool wanted = o_.output_gradient >= 0 && t != o_.output_gradient && n.type != element::i32;
            needs_gradient_[at(t)] = wanted ? 1 : 0;
        }
    }
    inputs_ = values_;
    first_user_.assign(count(g_.parameter_count), -1);
    uses_left_.assign(count(g_.parameter_count), 0);
    for (int op = 0; op < g_.op_count; ++op) {
        descriptions_[at(op)] = g_.describe(op);
        shards_[at(op)] = shards_of(op, 0);
        bool needs = false;
        for (int p : g_.ops[op].parameters) {
            needs = needs || g_.parameters[p].trained;
            first_user_[at(p)] = first_user_[at(p)] < 0 ? op : first_user_[at(p)];
            uses_left_[at(p)] += sweeps_;
        }
        for (const operand& x : desc(op).operands) { // none flows through where an expert's slots are
            const bool flows = x.kind == operand_kind::input && x.differentiable;
            needs = needs || (flows && needs_gradient_[at(g_.ops[op].inputs[x.slot])] != 0);
        }
        needs_gradient_[at(g_.ops[op].output)] = needs ? 1 : 0;
    }
    // Parameters live where a shard needs them, also one that a short batch leaves without samples.
    for (int op = 0; op < g_.op_count; ++op) {
        place_parameters(op, shards_[at(op)]);
    }
    prepare_micro_batches();
    shard_parameters();
    uses_ = uses_left_;
}

template <class Options>
void lowering<Options>::place_parameters(int op, const std::vector<shard>& shards) {
    for (const shard& s : shards) {
        for (int o = 0; o < desc(op).operands.size(); ++o) {
            const operand_kind k = desc(op).operands[o].kind;
            if (k == operand_kind::parameter || k == operand_kind::state) {
                parameter_tile(op, o, s);
            }
        }
    }
}

template <class Options>
int lowering<Options>::parameter_tile(int op, int which, const shard& s) {
    const int parameter = g_.ops[op].parameters[desc(op).operands[which].slot];
    const box region = region_of(op, which, s);
    const int home = home_of(op, which, s);
    for (const piece& p : parameters_[at(parameter)].pieces) {
        if (p.device == home && p.region == region) {
            return p.tile;
        }
    }
    const int t = add_tile(tile_kind::parameter, parameter, region, home, element::f32);
    parameters_[at(parameter)].pieces.push_back({region, home, 0, t});
    return t;
}

/// The device of the shard of the first samples that is otherwise as `s`, not mirrored and no copy.
template <class Options>
int lowering<Options>::first_replica(int op, const shard& s) const {
    const configuration& c = config(op);
    const int l = statistics_loop(desc(op)); // what has running statistics takes them over samples
    int inner = 1;
    for (int k = l + 1; k < desc(op).loops.size(); ++k) {
        inner *= c.degree[k];
    }
    const int first = s.box_index - s.index[l] * inner;
    return shard_at(c, s_.pool, desc(op), (first * c.partial + s.part) * c.replicate).device;
}

/// What a shard reads a parameter from: where it is stored, or a copy of it for this run.
template <class Options>
int lowering<Options>::parameter_value(int op, int which, const shard& s, pass what) {
    const int stored = parameter_tile(op, which, s);
    if (tile_at(stored).slices > 1) {
        return whole_parameter(op, which, stored, what);
    }
    if (tile_at(stored).device == s.device) {
        return stored;
    }
    for (const auto& [from, device, copy] : parameter_copies_) {
        if (from == stored && device == s.device) {
            return copy;
        }
    }
    const box region = tile_at(stored).region;
    const int t = add_tile(tile_kind::intermediate, op * max_operands + which, region, s.device, element::f32);
    add_copy(op, what, stored, t);
    parameter_copies_.push_back({stored, s.device, t});
    return t;
}

/// An input of the network goes to the device that stores the parameters, and from there to the shards.
template <class Options>
void lowering<Options>::take_in(int tensor) {
    piece& where = values_[at(tensor)].pieces[0];
    const int t = add_tile(tile_kind::activation, tensor, where.region, s_.parameters_on, g_.tensors[tensor].type);
    int reader = 0;
    while (reader + 1 < g_.op_count && !reads_tensor(reader, tensor)) {
        ++reader;
    }
    add_copy(reader, o_.kind == run_kind::evaluation ? pass::evaluate : pass::forward, where.tile, t);
    where.device = s_.parameters_on;
    where.tile = t;
}

template <class Options>
bool lowering<Options>::reads_tensor(int op, int tensor) const {
    for (int t : g_.ops[op].inputs) {
        if (t == tensor) {
            return true;
        }
    }
    return false;
}

} // namespace tessera::detail
