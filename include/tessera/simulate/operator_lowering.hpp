// SPDX-License-Identifier: Apache-2.0
// Lowering that can lower one operator anew: the tasks of a network in fragments, one for every operator forward and one backward, made by
// the same code as lower()'s plan. When one configuration changes, the fragments that it touches are made again and the rest stays.
#pragma once

#include "tessera/plan/lower.hpp"

namespace tessera::simulation {

/// The fragments' tasks in order of their numbers are lower()'s tasks, their tiles under other numbers. Fragment op is operator op forward,
/// fragment 2 * operators - 1 - op is it backward with the updates of the parameters that it is the first to use.
///
/// What a change of operator i touches: i itself; forward and backward, the operators that read its output or one of its inputs (they share
/// gathered tiles); backward, the operators that made its inputs and those that share its parameters. Where such an operator renames
/// memory (flatten; backward, add), those after (before) it too. All but i keep their configurations, so that whatever they hand to
/// fragments that stay keeps its tile.
class operator_lowering : private tessera::detail::lowering<lower_options> {
    using base = tessera::detail::lowering<lower_options>;

public:
    /// Throws tessera::error for options that make operators depend on others far away: clipping by the global norm, and gradients handed in
    /// from outside. The strategy must keep the rules (see require()).
    operator_lowering(const graph_view& g, const strategy& s, int devices, const lower_options& o = {})
        : base(g, {}, devices, o), own_(s) {
        if (o.update.clip_norm > 0 || o.output_gradient >= 0 || o.kind != run_kind::training) {
            throw error(
                "tessera: operators are lowered one by one for training without clipping and without a gradient "
                "from outside; lower() the whole network instead");
        }
        s_ = own_.view();
        bool staged = s.micro_batches > 1 || s.schedule.stages > 0;
        for (const configuration& c : s.ops) {
            staged = staged || c.stage != 0 || c.recompute;
        }
        if (staged) {
            throw error("tessera: operators are lowered one by one without micro-batches, stages and recomputation; "
                        "lower() the whole network instead");
        }
        consumers_.resize(count(g.tensor_count));
        users_.resize(count(g.parameter_count));
        for (int op = 0; op < g.op_count; ++op) {
            for (int t : g.ops[op].inputs) {
                add_once(consumers_[at(t)], op);
            }
            for (int p : g.ops[op].parameters) {
                add_once(users_[at(p)], op);
            }
        }
        fragments_.resize(count(2 * g.op_count));
        prepare();
        creator_.assign(p_.tiles.size(), -1);
        for (int f = 0; f < fragment_count(); ++f) {
            make(f);
        }
    }

    struct fragment {
        std::vector<task> tasks;
        index_t moved_bytes = 0;
    };

    int fragment_count() const { return 2 * g_.op_count; }
    const fragment& part(int f) const { return fragments_[at(f)]; }
    const std::vector<tile>& tiles() const { return p_.tiles; }
    int root(int t) const { return p_.root(t); }
    const graph_view& network() const { return g_; }
    const strategy& current() const { return own_; }
    index_t moved_bytes() const { return p_.moved_bytes; }

    /// Changes the configuration of one operator, placed on the devices listed (empty: by its start and stride). Returns the fragments that
    /// were made again, in order. The new strategy must keep the rules. Afterwards accept() or reject().
    const std::vector<int>& propose(int op, const configuration& c, const std::vector<int>& devices = {}) {
        find_touched(op);
        remember(op);
        set_configuration(op, c, devices);
        clear_around(op);
        for (int f : touched_) {
            f < g_.op_count ? forward_again(f, op) : backward_again(fragment_count() - 1 - f, op);
        }
        return touched_;
    }
    /// Keeps what propose() changed. Tiles that nothing uses any more stay until the lowering is made anew, see garbage().
    void accept() { undo_ = {}; }
    /// Returns to what was before propose().
    void reject() {
        own_.ops[at(undo_.op)] = undo_.before;
        own_.pool.resize(undo_.pool);
        s_ = own_.view();
        shards_[at(undo_.op)] = static_cast<std::vector<shard>&&>(undo_.shards);
        for (saved_tensor& t : undo_.tensors) {
            values_[at(t.which)] = static_cast<located&&>(t.values);
            gathered_values_[at(t.which)] =
                static_cast<std::vector<tessera::detail::gathered_tile>&&>(t.gathered_values);
            gradients_[at(t.which)] = static_cast<located&&>(t.gradients);
            gathered_gradients_[at(t.which)] =
                static_cast<std::vector<tessera::detail::gathered_tile>&&>(t.gathered_gradients);
        }
        for (saved_parameter& p : undo_.parameters) {
            parameters_[at(p.which)] = static_cast<located&&>(p.copies);
            parameter_gradients_[at(p.which)] = static_cast<located&&>(p.gradients);
        }
        for (std::size_t i = 0; i < undo_.fragments.size(); ++i) {
            fragments_[at(touched_[i])] = static_cast<fragment&&>(undo_.fragments[i]);
        }
        intermediates_.resize(undo_.intermediate_count);
        for (auto& [which, state] : undo_.intermediates) {
            intermediates_[which].second = static_cast<intermediate_state&&>(state);
        }
        for (std::size_t i = undo_.aliases.size(); i-- > 0;) {
            tile_at(undo_.aliases[i].first).alias = undo_.aliases[i].second;
        }
        p_.tiles.resize(undo_.tiles);
        creator_.resize(undo_.tiles);
        contribution_keys_.resize(undo_.tiles, -1);
        p_.moved_bytes = undo_.moved_bytes;
        undo_ = {};
    }

private:
    using gathered_list = std::vector<tessera::detail::gathered_tile>;
    using located = tessera::detail::located;
    using intermediate_state = tessera::detail::intermediate_state;

    struct saved_tensor {
        int which = 0;
        located values;
        gathered_list gathered_values;
        located gradients;
        gathered_list gathered_gradients;
    };
    struct saved_parameter {
        int which = 0;
        located copies;
        located gradients;
    };
    struct undo_log {
        int op = 0;
        configuration before;
        std::size_t pool = 0;
        std::vector<shard> shards;
        std::vector<saved_tensor> tensors;
        std::vector<saved_parameter> parameters;
        std::vector<fragment> fragments;
        std::vector<std::pair<std::size_t, intermediate_state>> intermediates;
        std::size_t intermediate_count = 0;
        std::vector<std::pair<int, int>> aliases;
        std::size_t tiles = 0;
        index_t moved_bytes = 0;
    };

    static void add_once(std::vector<int>& list, int x) {
        for (int y : list) {
            if (x == y) {
                return;
            }
        }
        list.push_back(x);
    }
    static bool contains(const std::vector<int>& list, int x) {
        for (int y : list) {
            if (x == y) {
                return true;
            }
        }
        return false;
    }
    template <class List>
    static bool lists(const List& list, int x) {
        for (int y : list) {
            if (x == y) {
                return true;
            }
        }
        return false;
    }

    /// Makes a fragment's tasks from the state that lowering is in.
    void make(int f) {
        const index_t before = p_.moved_bytes;
        p_.tasks.clear();
        if (f < g_.op_count) {
            forward(f);
        } else {
            const int op = fragment_count() - 1 - f;
            for (int p : g_.ops[op].parameters) { // the first user, which comes last, updates
                uses_left_[at(p)] = users_[at(p)][0] == op ? uses_in(op, p) : g_.op_count + 8;
            }
            backward(op);
        }
        fragments_[at(f)].tasks.swap(p_.tasks);
        fragments_[at(f)].moved_bytes = p_.moved_bytes - before;
        creator_.resize(p_.tiles.size(), f);
        contribution_keys_.resize(p_.tiles.size(), -1);
    }
    int uses_in(int op, int p) const {
        int n = 0;
        for (int q : g_.ops[op].parameters) {
            n += q == p ? 1 : 0;
        }
        return n;
    }

    // ---- what a change touches ------------------------------------------------------------------------------------------

    void find_touched(int op) {
        std::vector<char> forward_again(count(g_.op_count), 0);
        std::vector<char> backward_again(count(g_.op_count), 0);
        touch(op, forward_again);
        for (int c : consumers_[at(g_.ops[op].output)]) {
            touch(c, forward_again);
        }
        for (int t : g_.ops[op].inputs) {
            for (int c : consumers_[at(t)]) {
                touch(c, forward_again);
            }
            if (g_.tensors[t].producer >= 0) {
                touch_backward(g_.tensors[t].producer, backward_again);
            }
        }
        for (int p : g_.ops[op].parameters) {
            for (int u : users_[at(p)]) {
                touch_backward(u, backward_again);
            }
        }
        for (int i = 0; i < g_.op_count; ++i) {
            if (forward_again[at(i)] != 0) {
                touch_backward(i, backward_again);
            }
        }
        marks_.assign(count(fragment_count()), 0);
        touched_.clear();
        for (int f = 0; f < fragment_count(); ++f) {
            const bool again =
                f < g_.op_count ? forward_again[at(f)] != 0 : backward_again[at(fragment_count() - 1 - f)] != 0;
            marks_[at(f)] = again ? 1 : 0;
            if (again) {
                touched_.push_back(f);
            }
        }
    }
    /// Also what reads the output of a flattening, whose memory may now be another's.
    void touch(int op, std::vector<char>& marks) const {
        if (marks[at(op)] != 0) {
            return;
        }
        marks[at(op)] = 1;
        if (g_.ops[op].attributes.kind == op_kind::flatten) {
            for (int c : consumers_[at(g_.ops[op].output)]) {
                touch(c, marks);
            }
        }
    }
    void touch_backward(int op, std::vector<char>& marks) const {
        if (marks[at(op)] != 0) {
            return;
        }
        marks[at(op)] = 1;
        const op_kind kind = g_.ops[op].attributes.kind;
        for (int t : g_.ops[op].inputs) {
            if ((kind == op_kind::flatten || kind == op_kind::add) && g_.tensors[t].producer >= 0) {
                touch_backward(g_.tensors[t].producer, marks);
            }
        }
    }
    bool is_touched(int f) const { return marks_[at(f)] != 0; }

    // ---- changing ----------------------------------------------------------------------------------------------------------

    void remember(int op) {
        undo_ = {};
        undo_.op = op;
        undo_.before = own_.ops[at(op)];
        undo_.pool = own_.pool.size();
        undo_.shards = shards_[at(op)];
        undo_.tiles = p_.tiles.size();
        undo_.moved_bytes = p_.moved_bytes;
        std::vector<int> tensors;
        std::vector<int> parameters;
        for (int f : touched_) {
            const op_node& node = g_.ops[f < g_.op_count ? f : fragment_count() - 1 - f];
            add_once(tensors, node.output);
            for (int t : node.inputs) {
                add_once(tensors, t);
            }
            for (int p : node.parameters) {
                add_once(parameters, p);
            }
            p_.moved_bytes -= fragments_[at(f)].moved_bytes;
            undo_.fragments.push_back(static_cast<fragment&&>(fragments_[at(f)]));
        }
        for (int t : tensors) {
            undo_.tensors.push_back(
                {t, values_[at(t)], gathered_values_[at(t)], gradients_[at(t)], gathered_gradients_[at(t)]});
        }
        for (int p : parameters) {
            undo_.parameters.push_back({p, parameters_[at(p)], parameter_gradients_[at(p)]});
        }
        undo_.intermediate_count = intermediates_.size();
        for (std::size_t i = 0; i < intermediates_.size(); ++i) {
            if (is_touched(fragment_count() - 1 - intermediates_[i].first / max_operands)) {
                undo_.intermediates.push_back({i, intermediates_[i].second});
            }
        }
        names_.clear();
    }

    void set_configuration(int op, const configuration& c, const std::vector<int>& devices) {
        own_.ops[at(op)] = c;
        if (!devices.empty()) {
            own_.place(op, devices);
        }
        s_ = own_.view();
        shards_[at(op)].clear();
        for (int i = 0; i < c.shards(); ++i) {
            shards_[at(op)].push_back(shard_at(config(op), s_.pool, desc(op), i));
        }
        for (int p : g_.ops[op].parameters) {
            place_parameter(p);
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
    void clear_around(int op) {
        values_[at(g_.ops[op].output)] = {};
        gathered_values_[at(g_.ops[op].output)].clear();
        for (int t : g_.ops[op].inputs) {
            gathered_values_[at(t)].clear();
            gradients_[at(t)] = {};
            gathered_gradients_[at(t)].clear();
        }
        for (int p : g_.ops[op].parameters) {
            parameter_gradients_[at(p)] = {};
        }
        for (auto& [key, state] : intermediates_) {
            const int owner = key / max_operands;
            if (is_touched(owner)) {
                state = {};
            } else if (is_touched(fragment_count() - 1 - owner)) {
                state.gradients = {};
                state.gathered_gradients.clear();
                take_created(state.gathered, fragment_count() - 1 - owner);
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
    const saved_tensor& saved(int tensor) const {
        std::size_t i = 0;
        while (undo_.tensors[i].which != tensor) {
            ++i;
        }
        return undo_.tensors[i];
    }
    const located& saved_gradients(int parameter) const {
        std::size_t i = 0;
        while (undo_.parameters[i].which != parameter) {
            ++i;
        }
        return undo_.parameters[i].gradients;
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
        return contribution_keys_[at(t)] < 0 ? -1
                                             : static_cast<int>(contribution_keys_[at(t)] / (max_operands * 65536));
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
        for (auto& [key, state] : intermediates_) {
            if (key / max_operands != op) {
                continue;
            }
            for (located* l : {&state.values, &state.gradients}) {
                for (piece& x : l->pieces) {
                    x.tile = new_name(x.tile);
                }
            }
            for (gathered_list* l : {&state.gathered, &state.gathered_gradients}) {
                for (tessera::detail::gathered_tile& x : *l) {
                    x.tile = new_name(x.tile);
                }
            }
        }
    }

    void begin_fragment() {
        realias_.clear();
        first_new_ = p_.tiles.size();
    }

    void forward_again(int op, int changed) {
        begin_fragment();
        const op_node& node = g_.ops[op];
        located kept;
        if (op != changed) {
            kept = static_cast<located&&>(values_[at(node.output)]);
            values_[at(node.output)] = {};
        }
        std::vector<int> inputs;
        for (int t : node.inputs) {
            add_once(inputs, t);
            take_created(gathered_values_[at(t)], op);
        }
        make(op);
        if (op != changed) {
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

    void backward_again(int op, int changed) {
        begin_fragment();
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
            if (!lists(g_.ops[changed].inputs, t)) {
                stashed_tensors.push_back(t);
                stashed.push_back(static_cast<located&&>(gradients_[at(t)]));
                gradients_[at(t)] = {};
            }
        }
        take_created(gathered_gradients_[at(node.output)], f);
        std::vector<int> other_parameters;
        std::vector<located> parameter_stash;
        for (int p : node.parameters) {
            if (!lists(g_.ops[changed].parameters, p) && !contains(other_parameters, p)) {
                other_parameters.push_back(p);
                parameter_stash.push_back(parameter_gradients_[at(p)]);
                set_aside(parameter_gradients_[at(p)], op, users_[at(p)][0] == op);
            }
        }
        make(f);
        for (int t : inputs) {
            if (op != changed) {
                match_contributions(gradients_[at(t)], saved(t).gradients, op);
            }
        }
        for (int p : node.parameters) {
            if (op != changed) {
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

    strategy own_;
    std::vector<std::vector<int>> consumers_; ///< of every tensor
    std::vector<std::vector<int>> users_;     ///< of every parameter
    std::vector<fragment> fragments_;
    std::vector<int> creator_; ///< fragment that made each tile, or -1
    std::vector<int> touched_;
    std::vector<char> marks_;
    std::vector<int> names_; ///< for every tile made since propose(): the number that it has taken over, or its own
    std::vector<int> realias_;
    std::size_t first_new_ = 0;
    undo_log undo_;
};

} // namespace tessera::simulation
