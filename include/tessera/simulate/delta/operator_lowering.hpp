// SPDX-License-Identifier: Apache-2.0
// Lowering that can lower one operator anew: when one configuration changes, the fragments that it touches are made again and the rest
// stays.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/tile_names.hpp"

#include <algorithm>

namespace tessera::simulation {

/// A network lowered in fragments, and how it changes.
class operator_lowering {
    using located = lowering::located;
    using gathered_list = lowering::gathered_list;

public:
    /// Throws tessera::error for what does not lower in fragments. The strategy must keep the rules (see require()).
    operator_lowering(const graph_view& g, const strategy& s, int devices, const lower_options& o = {})
        : x_(g, require_fragments(s, o), devices, o) {
        for (int f = 0; f < x_.count(); ++f) {
            make(x_, f);
        }
    }

    int fragment_count() const { return x_.count(); }
    const fragment& part(int f) const { return x_.fragments[at(f)]; }
    const std::vector<tile>& tiles() const { return x_.out.p.tiles; }
    int root(int t) const { return x_.out.p.root(t); }
    const graph_view& network() const { return x_.in.g; }
    const strategy& current() const { return x_.how; }
    index_t moved_bytes() const { return x_.out.p.moved_bytes; }

    touched_fragments touched(const std::vector<change>& changes) const { return touched_by(x_, changes); }

    /// Changes the configurations of operators, each of them once. Returns the fragments that were made again, in order. The new strategy must
    /// keep the rules. Afterwards accept() or reject().
    const std::vector<int>& propose(const std::vector<change>& changes) { return propose(changes, touched(changes)); }
    /// With what touched() has said of them.
    const std::vector<int>& propose(const std::vector<change>& changes, touched_fragments&& all) {
        touched_ = static_cast<touched_fragments&&>(all);
        undo_ = remember(x_, touched_, changes);
        names_.begin_change(x_.out);
        for (const change& c : changes) {
            configure(c);
        }
        for (int p = 0; p < x_.in.g.parameter_count; ++p) {
            touched_.parameters[at(p)] != 0 ? place_parameter(p) : void();
        }
        clear_around(changes);
        for (int f : touched_.list) {
            names_.begin_fragment(x_.out);
            x_.is_forward(f) ? forward_again(f) : backward_again(f);
            apply(names_, x_, f);
        }
        return touched_.list;
    }
    const std::vector<int>& propose(int op, const configuration& c, const std::vector<int>& devices = {}) {
        return propose({place_on(op, c, devices)});
    }
    /// Keeps what propose() changed. Tiles that nothing uses any more stay until the lowering is made anew.
    void accept() { undo_ = {}; }
    /// Returns to what was before propose().
    void reject() {
        restore(x_, touched_, static_cast<lowering_undo&&>(undo_));
        undo_ = {};
    }

private:
    lowering::micro_batch_places& batch() { return x_.batch(); }

    void configure(const change& c) {
        tessera::apply(x_.how, c);
        x_.in.s = x_.how.view();
        batch().shards[at(c.op)] = x_.in.shards_of(c.op, 0);
    }
    /// A parameter's copies again, in the order in which lower() places them; those that were there before keep their tiles.
    void place_parameter(int p) {
        std::vector<piece>& pieces = x_.places.parameters[at(p)].pieces;
        const std::vector<piece> before = static_cast<std::vector<piece>&&>(pieces);
        pieces.clear();
        for (int u : x_.network.users[at(p)]) {
            for (const shard& s : batch().shards[at(u)]) {
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

    /// Forgets what the operators wrote, what was gathered of it and of their inputs, and the contributions to their inputs' and parameters'
    /// gradients: all that write them are touched and do it again in the old order.
    void clear_around(const std::vector<change>& changes) {
        lowering::micro_batch_places& m = batch();
        for (const change& c : changes) {
            const op_node& node = x_.in.g.ops[c.op];
            m.values[at(node.output)] = {};
            m.gathered_values[at(node.output)].clear();
            for (int t : node.inputs) {
                m.gathered_values[at(t)].clear();
                m.gradients[at(t)] = {};
                m.gathered_gradients[at(t)].clear();
            }
            for (int p : node.parameters) {
                x_.places.parameter_gradients[at(p)] = {};
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

    /// Removes from a list the tiles that a fragment gathered, and returns them.
    gathered_list take_created(gathered_list& list, int f) const {
        gathered_list taken;
        gathered_list left;
        for (const lowering::gathered_tile& t : list) {
            (x_.creator[at(t.tile)] == f ? taken : left).push_back(t);
        }
        list.swap(left);
        return taken;
    }
    /// What a fragment gathers is what it had gathered before the change, where that is still wanted.
    void match_gathered(gathered_list& now, gathered_list old, int f) {
        old = take_created(old, f);
        for (lowering::gathered_tile& n : now) {
            for (const lowering::gathered_tile& o : old) {
                if (names_.is_new(n.tile) && n.device == o.device && n.part == o.part && n.region == o.region) {
                    take_over(n.tile, o.tile);
                }
            }
        }
    }
    /// The contributions of an operator that keeps its configuration come in the same order as before.
    void match_contributions(located& now, const located& before, int op) {
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
    void take_over(int& fresh, int old) {
        names_.take_over(fresh, old, x_.out, undo_);
        fresh = old;
    }
    int contributor(int t) const {
        const index_t key = x_.places.contribution_keys[at(t)];
        return key < 0 ? -1 : static_cast<int>(key / (max_operands * 65536));
    }

    void forward_again(int op) {
        lowering::micro_batch_places& m = batch();
        const op_node& node = x_.in.g.ops[op];
        const bool changed = touched_.ops[at(op)] != 0;
        located kept;
        if (!changed) {
            kept = static_cast<located&&>(m.values[at(node.output)]);
            m.values[at(node.output)] = {};
        }
        std::vector<int> inputs;
        for (int t : node.inputs) {
            if (std::find(inputs.begin(), inputs.end(), t) == inputs.end()) {
                inputs.push_back(t);
                take_created(m.gathered_values[at(t)], op);
            }
        }
        make(x_, op);
        if (!changed) {
            for (std::size_t i = 0; i < kept.pieces.size(); ++i) {
                take_over(m.values[at(node.output)].pieces[i].tile, kept.pieces[i].tile);
            }
            m.values[at(node.output)] = static_cast<located&&>(kept);
        }
        for (int t : inputs) {
            match_gathered(m.gathered_values[at(t)], undo_.of_tensor(t).gathered_values, op);
        }
    }

    void backward_again(int f) {
        lowering::micro_batch_places& m = batch();
        std::vector<located>& parameter_gradients = x_.places.parameter_gradients;
        const int op = x_.operator_of(f);
        const op_node& node = x_.in.g.ops[op];
        const bool changed = touched_.ops[at(op)] != 0;
        std::vector<int> inputs;
        std::vector<std::pair<int, located>> stashed; // of inputs that others also give gradients, by tensor
        for (int t : node.inputs) {
            if (std::find(inputs.begin(), inputs.end(), t) != inputs.end()) {
                continue;
            }
            inputs.push_back(t);
            take_created(m.gathered_values[at(t)], f);
            if (touched_.inputs[at(t)] == 0) {
                stashed.emplace_back(t, static_cast<located&&>(m.gradients[at(t)]));
                m.gradients[at(t)] = {};
            }
        }
        take_created(m.gathered_gradients[at(node.output)], f);
        std::vector<std::pair<int, located>> stashed_parameters;
        for (int p : node.parameters) {
            const auto is_it = [p](const std::pair<int, located>& s) { return s.first == p; };
            const bool known = std::any_of(stashed_parameters.begin(), stashed_parameters.end(), is_it);
            if (touched_.parameters[at(p)] == 0 && !known) {
                stashed_parameters.emplace_back(p, parameter_gradients[at(p)]);
                set_aside(parameter_gradients[at(p)], op, x_.in.first_user[at(p)] == op);
            }
        }
        make(x_, f);
        for (std::size_t i = 0; i < inputs.size() && !changed; ++i) {
            match_contributions(m.gradients[at(inputs[i])], undo_.of_tensor(inputs[i]).gradients, op);
        }
        for (int i = 0; i < node.parameters.size() && !changed; ++i) {
            const int p = node.parameters[i];
            match_contributions(parameter_gradients[at(p)], undo_.of_parameter(p).gradients, op);
        }
        for (auto& [t, gradients] : stashed) {
            m.gradients[at(t)] = static_cast<located&&>(gradients);
        }
        for (auto& [p, gradients] : stashed_parameters) {
            parameter_gradients[at(p)] = static_cast<located&&>(gradients);
        }
        for (int t : inputs) {
            match_gathered(m.gathered_values[at(t)], undo_.of_tensor(t).gathered_values, f);
        }
        match_gathered(m.gathered_gradients[at(node.output)], undo_.of_tensor(node.output).gathered_gradients, f);
    }
    /// Takes an operator's contributions to a shared gradient away. The first user comes last and sums all of them, so that it must see the others'.
    void set_aside(located& from, int op, bool is_first_user) const {
        if (!is_first_user) {
            from = {};
            return;
        }
        while (!from.pieces.empty() && contributor(from.pieces.back().tile) == op) {
            from.pieces.pop_back();
        }
        from.parts = 0;
        for (const piece& p : from.pieces) {
            from.parts = p.part + 1 > from.parts ? p.part + 1 : from.parts;
        }
    }

    lowered_fragments x_;
    touched_fragments touched_;
    lowering_undo undo_;
    tile_names names_;
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
