// SPDX-License-Identifier: Apache-2.0
// Bodies of operator_lowering.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/operator_lowering.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE operator_lowering::operator_lowering(const graph_view& g, const strategy& s, int devices,
                                                    const lower_options& o)
    : x_(g, require_fragments(s, o), devices, o) {
    for (int f = 0; f < x_.count(); ++f) {
        make(x_, f);
    }
}

TESSERA_INLINE const std::vector<int>& operator_lowering::propose(const std::vector<change>& changes,
                                                                  touched_fragments&& all) {
    touched_ = std::move(all);
    undo_ = remember(x_, touched_, changes);
    names_.begin_change(x_.out);
    for (const change& c : changes) {
        configure(c);
    }
    for (int p = 0; p < x_.in.g.parameter_count; ++p) {
        if (touched_.parameters[to_size(p)] != 0) {
            place_parameter(p);
        }
    }
    clear_around(changes);
    for (int f : touched_.list) {
        names_.begin_fragment(x_.out);
        x_.is_forward(f) ? forward_again(f) : backward_again(f);
        apply(names_, x_, f);
    }
    return touched_.list;
}

TESSERA_INLINE const std::vector<int>& operator_lowering::propose(int op, const configuration& c,
                                                                  const std::vector<int>& devices) {
    return propose({place_on(op, c, devices)});
}

TESSERA_INLINE void operator_lowering::reject() {
    restore(x_, touched_, std::move(undo_));
    undo_ = {};
}

TESSERA_INLINE void operator_lowering::configure(const change& c) {
    tessera::apply(x_.how, c);
    x_.in.s = x_.how.view();
    batch().shards[to_size(c.op)] = x_.in.shards_of(c.op, 0);
}

TESSERA_INLINE void operator_lowering::place_parameter(int p) {
    std::vector<piece>& pieces = x_.places.parameters[to_size(p)].pieces;
    const std::vector<piece> before = std::move(pieces);
    pieces.clear();
    for (int u : x_.network.users[to_size(p)]) {
        for (const shard& s : batch().shards[to_size(u)]) {
            for (int o = 0; o < x_.in.desc(u).operands.size(); ++o) {
                const operand& of = x_.in.desc(u).operands[o];
                const bool mine = of.kind == operand_kind::parameter || of.kind == operand_kind::state;
                if (mine && x_.in.g.ops[u].parameters[of.slot] == p) {
                    parameter_tile(x_.in, x_.places, x_.out, u, o, s);
                }
            }
        }
    }
    for (piece& now : pieces) {
        for (const piece& old : before) {
            now.tile = old.device == now.device && old.region == now.region ? old.tile : now.tile;
        }
    }
    x_.creator.resize(x_.out.p.tiles.size(), -1);
}

TESSERA_INLINE void operator_lowering::clear_around(const std::vector<change>& changes) {
    lowering::micro_batch_places& m = batch();
    for (const change& c : changes) {
        const op_node& node = x_.in.g.ops[c.op];
        m.values[to_size(node.output)] = {};
        m.gathered_values[to_size(node.output)].clear();
        for (int t : node.inputs) {
            m.gathered_values[to_size(t)].clear();
            m.gradients[to_size(t)] = {};
            m.gathered_gradients[to_size(t)].clear();
        }
        for (int p : node.parameters) {
            x_.places.parameter_gradients[to_size(p)] = {};
        }
    }
    for (auto& [key, states] : m.intermediates) {
        const int owner = key / max_operands;
        const int backward = x_.backward_of(owner);
        if (touched_.contains(owner)) {
            states.clear();
        } else if (touched_.contains(backward)) {
            for (lowering::intermediate_state& state : states) {
                state.gradients = {};
                take_created(state.values.slices, backward);
                take_created(state.values.gathered, backward);
            }
        }
    }
}

TESSERA_INLINE operator_lowering::gathered_list operator_lowering::take_created(gathered_list& list, int f) const {
    gathered_list taken;
    gathered_list left;
    for (const lowering::gathered_tile& t : list) {
        (x_.creator[to_size(t.tile)] == f ? taken : left).push_back(t);
    }
    list.swap(left);
    return taken;
}

TESSERA_INLINE void operator_lowering::match_gathered(gathered_list& now, gathered_list old, int f) {
    old = take_created(old, f);
    for (lowering::gathered_tile& n : now) {
        for (const lowering::gathered_tile& o : old) {
            if (names_.is_new(n.tile) && n.device == o.device && n.summand == o.summand && n.region == o.region) {
                take_over(n.tile, o.tile);
            }
        }
    }
}

TESSERA_INLINE void operator_lowering::match_contributions(located& now, const located& before, int op) {
    std::size_t next = 0;
    for (const piece& old : before.pieces) {
        if (contributor(old.tile) != op) {
            continue;
        }
        while (next < now.pieces.size() &&
               (!names_.is_new(now.pieces[next].tile) || contributor(now.pieces[next].tile) != op)) {
            ++next;
        }
        if (next == now.pieces.size()) {
            return; // they have been matched under an earlier operand
        }
        take_over(now.pieces[next].tile, old.tile);
    }
}

TESSERA_INLINE void operator_lowering::take_over(int& fresh, int old) {
    names_.take_over(fresh, old, x_.out, undo_);
    fresh = old;
}

TESSERA_INLINE int operator_lowering::contributor(int t) const {
    const index_t key = x_.places.contribution_keys[to_size(t)];
    return key < 0 ? -1 : static_cast<int>(key / (max_operands * 65536));
}

TESSERA_INLINE void operator_lowering::forward_again(int op) {
    lowering::micro_batch_places& m = batch();
    const op_node& node = x_.in.g.ops[op];
    const bool changed = touched_.ops[to_size(op)] != 0;
    located kept;
    if (!changed) {
        kept = std::move(m.values[to_size(node.output)]);
        m.values[to_size(node.output)] = {};
    }
    std::vector<int> inputs;
    for (int t : node.inputs) {
        if (std::find(inputs.begin(), inputs.end(), t) == inputs.end()) {
            inputs.push_back(t);
            take_created(m.gathered_values[to_size(t)], op);
        }
    }
    make(x_, op);
    if (!changed) {
        for (std::size_t i = 0; i < kept.pieces.size(); ++i) {
            take_over(m.values[to_size(node.output)].pieces[i].tile, kept.pieces[i].tile);
        }
        m.values[to_size(node.output)] = std::move(kept);
    }
    for (int t : inputs) {
        match_gathered(m.gathered_values[to_size(t)], undo_.of_tensor(t).gathered_values, op);
    }
}

TESSERA_INLINE void operator_lowering::backward_again(int f) {
    lowering::micro_batch_places& m = batch();
    std::vector<located>& parameter_gradients = x_.places.parameter_gradients;
    const int op = x_.operator_of(f);
    const op_node& node = x_.in.g.ops[op];
    const bool changed = touched_.ops[to_size(op)] != 0;
    std::vector<int> inputs;
    std::vector<std::pair<int, located>> stashed; // of inputs that others also give gradients, by tensor
    for (int t : node.inputs) {
        if (std::find(inputs.begin(), inputs.end(), t) != inputs.end()) {
            continue;
        }
        inputs.push_back(t);
        take_created(m.gathered_values[to_size(t)], f);
        if (touched_.inputs[to_size(t)] == 0) {
            stashed.emplace_back(t, std::move(m.gradients[to_size(t)]));
            m.gradients[to_size(t)] = {};
        }
    }
    take_created(m.gathered_gradients[to_size(node.output)], f);
    std::vector<std::pair<int, located>> stashed_parameters;
    for (int p : node.parameters) {
        const auto is_it = [p](const std::pair<int, located>& s) { return s.first == p; };
        const bool known = std::any_of(stashed_parameters.begin(), stashed_parameters.end(), is_it);
        if (touched_.parameters[to_size(p)] == 0 && !known) {
            stashed_parameters.emplace_back(p, parameter_gradients[to_size(p)]);
            set_aside(parameter_gradients[to_size(p)], op, x_.in.first_user[to_size(p)] == op);
        }
    }
    make(x_, f);
    for (std::size_t i = 0; i < inputs.size() && !changed; ++i) {
        match_contributions(m.gradients[to_size(inputs[i])], undo_.of_tensor(inputs[i]).gradients, op);
    }
    for (int i = 0; i < node.parameters.size() && !changed; ++i) {
        const int p = node.parameters[i];
        match_contributions(parameter_gradients[to_size(p)], undo_.of_parameter(p).gradients, op);
    }
    for (auto& [t, gradients] : stashed) {
        m.gradients[to_size(t)] = std::move(gradients);
    }
    for (auto& [p, gradients] : stashed_parameters) {
        parameter_gradients[to_size(p)] = std::move(gradients);
    }
    for (int t : inputs) {
        match_gathered(m.gathered_values[to_size(t)], undo_.of_tensor(t).gathered_values, f);
    }
    match_gathered(m.gathered_gradients[to_size(node.output)], undo_.of_tensor(node.output).gathered_gradients, f);
}

TESSERA_INLINE void operator_lowering::set_aside(located& from, int op, bool is_first_user) const {
    if (!is_first_user) {
        from = {};
        return;
    }
    while (!from.pieces.empty() && contributor(from.pieces.back().tile) == op) {
        from.pieces.pop_back();
    }
    from.parts = 0;
    for (const piece& p : from.pieces) {
        from.parts = p.summand + 1 > from.parts ? p.summand + 1 : from.parts;
    }
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
