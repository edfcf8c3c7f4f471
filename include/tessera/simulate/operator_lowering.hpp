// SPDX-License-Identifier: Apache-2.0
// Lowering that can lower one operator anew: when one configuration changes, the fragments that it touches are made again and the rest
// stays.
#pragma once

#include "tessera/simulate/lowering_fragments.hpp"

namespace tessera::simulation {

/// What a change of operator i touches (of several, each of them): i itself; forward and backward, the operators that read its output or one of its inputs (they share
/// gathered tiles); backward, the operators that made its inputs and those that share its parameters. Where such an operator renames
/// memory (flatten; backward, add), those after (before) it too. All but i keep their configurations, so that whatever they hand to
/// fragments that stay keeps its tile.
class operator_lowering : public lowering_fragments {
public:
    using lowering_fragments::lowering_fragments;

    /// Changes the configurations of operators, each of them once. Returns the fragments that were made again, in order. The new strategy must
    /// keep the rules. Afterwards accept() or reject().
    const std::vector<int>& propose(const std::vector<change>& changes) {
        find_touched(changes);
        remember(changes);
        names_.clear();
        for (const change& x : changes) {
            set_configuration(x);
        }
        s_ = own_.view();
        for (int p = 0; p < g_.parameter_count; ++p) {
            changed_parameters_[at(p)] != 0 ? place_parameter(p) : void();
        }
        clear_around(changes);
        for (int f : touched_) {
            f < g_.op_count ? forward_again(f) : backward_again(fragment_count() - 1 - f);
        }
        return touched_;
    }
    const std::vector<int>& propose(int op, const configuration& c, const std::vector<int>& devices = {}) {
        return propose({place_on(op, c, devices)});
    }
    /// Keeps what propose() changed. Tiles that nothing uses any more stay until the lowering is made anew.
    void accept() { undo_ = {}; }
    /// Returns to what was before propose().
    void reject() { restore(); }

private:
    void set_configuration(const change& x) {
        apply(own_, x);
        s_ = own_.view();
        shards_[at(x.op)].clear();
        for (int i = 0; i < x.what.shards(); ++i) {
            shards_[at(x.op)].push_back(shard_at(config(x.op), s_.pool, desc(x.op), i));
        }
    }
    /// A parameter's copies again, in the order of prepare(); those that were there before keep their tiles.
    void place_parameter(int p) {
        const std::vector<piece> before = static_cast<std::vector<piece>&&>(parameters_[at(p)].pieces);
        parameters_[at(p)].pieces.clear();
        for (int u : users_[at(p)]) {
            for (const shard& s : shards_[at(u)]) {
                for (int o = 0; o < desc(u).operands.size(); ++o) {
                    const operand& x = desc(u).operands[o];
                    const bool mine = x.kind == operand_kind::parameter || x.kind == operand_kind::state;
                    if (mine && g_.ops[u].parameters[x.slot] == p) {
                        parameter_tile(u, o, s);
                    }
                }
            }
        }
        for (piece& now : parameters_[at(p)].pieces) {
            for (const piece& old : before) {
                now.tile = old.device == now.device && old.region == now.region ? old.tile : now.tile;
            }
        }
        creator_.resize(p_.tiles.size(), -1);
    }

    /// Forgets what the operator wrote, what was gathered of it and of its inputs, and the contributions to its inputs' and parameters'
    /// gradients: all that write them are touched and do it again in the old order.
    void clear_around(const std::vector<change>& changes) {
        for (const change& x : changes) {
            const op_node& node = g_.ops[x.op];
            values_[at(node.output)] = {};
            gathered_values_[at(node.output)].clear();
            for (int t : node.inputs) {
                gathered_values_[at(t)].clear();
                gradients_[at(t)] = {};
                gathered_gradients_[at(t)].clear();
            }
            for (int p : node.parameters) {
                parameter_gradients_[at(p)] = {};
            }
        }
        for (auto& [key, states] : intermediates_) {
            const int owner = key / max_operands;
            const int backward = fragment_count() - 1 - owner;
            if (is_touched(owner)) {
                states.clear();
            } else if (is_touched(backward)) {
                for (tessera::detail::intermediate_state& state : states) {
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
        for (const tessera::detail::gathered_tile& t : list) {
            (creator_[at(t.tile)] == f ? taken : left).push_back(t);
        }
        list.swap(left);
        return taken;
    }

    /// What a fragment had gathered of a tensor before the change, also where the list has been cleared since.
    const saved_tensor& saved(int tensor) const { return undo_.tensors[at(saved_place_[at(tensor)])]; }
    const located& saved_gradients(int parameter) const {
        return undo_.parameters[at(saved_parameter_place_[at(parameter)])].gradients;
    }
    gathered_list old_created(const gathered_list& list, int f) const {
        gathered_list copy = list;
        return take_created(copy, f);
    }

    // ---- tiles keep their numbers ------------------------------------------------------------------------------------------

    void rename(int from, int to) {
        const std::size_t place = at(from) - undo_.tiles;
        for (std::size_t i = names_.size(); i <= place; ++i) {
            names_.push_back(static_cast<int>(undo_.tiles + i));
        }
        names_[place] = to;
    }
    int new_name(int t) const {
        return at(t) < undo_.tiles || at(t) - undo_.tiles >= names_.size() ? t : names_[at(t) - undo_.tiles];
    }
    /// A new tile takes the number of an old one that stands for the same.
    void take_over(int fresh, int old) {
        rename(fresh, old);
        if (tile_at(old).alias != tile_at(fresh).alias) {
            undo_.aliases.push_back({old, tile_at(old).alias});
            tile_at(old).alias = tile_at(fresh).alias;
            realias_.push_back(old);
        }
    }
    void match_gathered(gathered_list& now, const gathered_list& old) {
        for (tessera::detail::gathered_tile& n : now) {
            for (const tessera::detail::gathered_tile& o : old) {
                if (n.tile >= static_cast<int>(first_new_) && n.device == o.device && n.part == o.part &&
                    n.region == o.region) {
                    take_over(n.tile, o.tile);
                    n.tile = o.tile;
                }
            }
        }
    }
    int key_owner(int t) const {
        const index_t key = contribution_keys_[at(t)];
        return key < 0 ? -1 : static_cast<int>(key / (max_operands * 65536));
    }

    /// Rewrites the numbers in a fragment's tasks.
    void apply_names(int f) {
        for (task& t : fragments_[at(f)].tasks) {
            for (std::vector<int>* list : {&t.reads, &t.writes, &t.norms}) {
                for (int& x : *list) {
                    x = new_name(x);
                }
            }
            for (copy_segment& s : t.segments) {
                s.source = new_name(s.source);
            }
            for (int o = 0; o < max_operands; ++o) {
                t.value[o] = t.value[o] >= 0 ? new_name(t.value[o]) : -1;
                t.gradient[o] = t.gradient[o] >= 0 ? new_name(t.gradient[o]) : -1;
            }
        }
        for (int t : realias_) {
            tile_at(t).alias = tile_at(t).alias >= 0 ? new_name(tile_at(t).alias) : -1;
        }
        for (std::size_t t = first_new_; t < p_.tiles.size(); ++t) {
            p_.tiles[t].alias = p_.tiles[t].alias >= 0 ? new_name(p_.tiles[t].alias) : -1;
        }
        const int op = f < g_.op_count ? f : fragment_count() - 1 - f;
        for (auto& [key, states] : intermediates_) {
            for (std::size_t i = 0; i < states.size() && key / max_operands == op; ++i) {
                apply_names(states[i].values);
                apply_names(states[i].gradients);
            }
        }
    }
    void apply_names(tessera::detail::intermediate_pieces& m) const {
        for (piece& x : m.made.pieces) {
            x.tile = new_name(x.tile);
        }
        for (gathered_list* l : {&m.slices, &m.gathered}) {
            for (tessera::detail::gathered_tile& x : *l) {
                x.tile = new_name(x.tile);
            }
        }
    }

    void begin_fragment() {
        realias_.clear();
        first_new_ = p_.tiles.size();
    }

    void forward_again(int op) {
        begin_fragment();
        const bool changed = changed_ops_[at(op)] != 0;
        const op_node& node = g_.ops[op];
        located kept;
        if (!changed) {
            kept = static_cast<located&&>(values_[at(node.output)]);
            values_[at(node.output)] = {};
        }
        std::vector<int> inputs;
        for (int t : node.inputs) {
            add_once(inputs, t);
            take_created(gathered_values_[at(t)], op);
        }
        make(op);
        if (!changed) {
            for (std::size_t i = 0; i < kept.pieces.size(); ++i) {
                take_over(values_[at(node.output)].pieces[i].tile, kept.pieces[i].tile);
            }
            values_[at(node.output)] = static_cast<located&&>(kept);
        }
        for (int t : inputs) {
            match_gathered(gathered_values_[at(t)], old_created(saved(t).gathered_values, op));
        }
        apply_names(op);
    }

    void backward_again(int op) {
        begin_fragment();
        const bool changed = changed_ops_[at(op)] != 0;
        const int f = fragment_count() - 1 - op;
        const op_node& node = g_.ops[op];
        std::vector<int> inputs;
        std::vector<int> stashed_tensors;
        std::vector<located> stashed;
        for (int t : node.inputs) {
            if (contains(inputs, t)) {
                continue;
            }
            inputs.push_back(t);
            take_created(gathered_values_[at(t)], f);
            if (changed_inputs_[at(t)] == 0) {
                stashed_tensors.push_back(t);
                stashed.push_back(static_cast<located&&>(gradients_[at(t)]));
                gradients_[at(t)] = {};
            }
        }
        take_created(gathered_gradients_[at(node.output)], f);
        std::vector<int> other_parameters;
        std::vector<located> parameter_stash;
        for (int p : node.parameters) {
            if (changed_parameters_[at(p)] == 0 && !contains(other_parameters, p)) {
                other_parameters.push_back(p);
                parameter_stash.push_back(parameter_gradients_[at(p)]);
                set_aside(parameter_gradients_[at(p)], op, users_[at(p)][0] == op);
            }
        }
        make(f);
        for (int t : inputs) {
            if (!changed) {
                match_contributions(gradients_[at(t)], saved(t).gradients, op);
            }
        }
        for (int p : node.parameters) {
            if (!changed) {
                match_contributions(parameter_gradients_[at(p)], saved_gradients(p), op);
            }
        }
        for (std::size_t i = 0; i < stashed.size(); ++i) {
            gradients_[at(stashed_tensors[i])] = static_cast<located&&>(stashed[i]);
        }
        for (std::size_t i = 0; i < parameter_stash.size(); ++i) {
            parameter_gradients_[at(other_parameters[i])] = static_cast<located&&>(parameter_stash[i]);
        }
        for (int t : inputs) {
            match_gathered(gathered_values_[at(t)], old_created(saved(t).gathered_values, f));
        }
        match_gathered(gathered_gradients_[at(node.output)], old_created(saved(node.output).gathered_gradients, f));
        apply_names(f);
    }
    /// Takes an operator's contributions to a shared gradient away. The first user comes last and sums all of them, so that it must see the others'.
    void set_aside(located& from, int op, bool is_first_user) const {
        if (!is_first_user) {
            from = {};
            return;
        }
        while (!from.pieces.empty() && key_owner(from.pieces.back().tile) == op) {
            from.pieces.pop_back();
        }
        from.parts = 0;
        for (const piece& p : from.pieces) {
            from.parts = p.part + 1 > from.parts ? p.part + 1 : from.parts;
        }
    }
    /// The contributions of an operator that keeps its configuration come in the same order as before.
    void match_contributions(located& now, const located& before, int op) {
        std::size_t next = 0;
        for (const piece& old : before.pieces) {
            if (key_owner(old.tile) != op) {
                continue;
            }
            while (next < now.pieces.size() &&
                   (at(now.pieces[next].tile) < first_new_ || key_owner(now.pieces[next].tile) != op)) {
                ++next;
            }
            if (next == now.pieces.size()) {
                return; // they have been matched under an earlier operand
            }
            take_over(now.pieces[next].tile, old.tile);
            now.pieces[next].tile = old.tile;
        }
    }

    std::vector<int> names_; ///< for every tile made since propose(): the number that it has taken over, or its own
    std::vector<int> realias_;
    std::size_t first_new_ = 0;
};

} // namespace tessera::simulation
