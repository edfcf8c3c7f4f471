// SPDX-License-Identifier: Apache-2.0
// The tasks of a network in fragments, one for every operator forward and one backward, made by the same code as lower()'s plan; and how a
// change of a few of them is undone.
#pragma once

#include "tessera/layout/change.hpp"
#include "tessera/plan/lower.hpp"

namespace tessera::simulation {

/// The fragments' tasks in order of their numbers are lower()'s tasks. Fragment op is operator op forward, fragment 2 * operators - 1 - op is it
/// backward, with the updates of the parameters that it is the first to use.
class lowering_fragments : protected tessera::detail::lowering<lower_options> {
    using base = tessera::detail::lowering<lower_options>;

public:
    /// Options that make operators depend on others far away are not covered: clipping by the global norm, and gradients handed in from outside.
    static bool covers(const lower_options& o) {
        return o.update.clip_norm <= 0 && o.output_gradient < 0 && o.kind == run_kind::training;
    }
    /// Nor are micro-batches, stages, recomputation, communication lanes and messages of several gradients.
    static bool covers(const strategy& s) {
        bool staged = s.micro_batches > 1 || s.schedule.stages > 0;
        for (const configuration& c : s.ops) {
            staged = staged || c.stage != 0 || c.recompute;
        }
        return !staged && s.parameters_on < 0 && !s.overlap && s.sync.is_usual() && s.period == 1;
    }

    /// Throws tessera::error for what is not covered. The strategy must keep the rules (see require()).
    lowering_fragments(const graph_view& g, const strategy& s, int devices, const lower_options& o = {})
        : base(g, {}, devices, o), own_(s) {
        if (!covers(o)) {
            throw error(
                "tessera: operators are lowered one by one for training without clipping and without a gradient "
                "from outside; lower() the whole network instead");
        }
        if (!covers(s)) {
            throw error("tessera: operators are lowered one by one without micro-batches, stages and recomputation, "
                        "without communication lanes, each gradient synchronized by itself, and with parameters where "
                        "shards need them; lower() the whole network instead");
        }
        s_ = own_.view();
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

protected:
    using gathered_list = std::vector<tessera::detail::gathered_tile>;
    using located = tessera::detail::located;
    using intermediate_states = std::vector<tessera::detail::intermediate_state>; ///< by replica

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
        std::vector<std::pair<int, configuration>> ops; ///< that have changed, with what they had before
        std::size_t pool = 0;
        std::vector<std::vector<shard>> shards; ///< of these
        std::vector<saved_tensor> tensors;
        std::vector<saved_parameter> parameters;
        std::vector<fragment> fragments;
        std::vector<std::pair<std::size_t, intermediate_states>> intermediates;
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

    /// Notes which operators change, and which tensors and parameters are theirs; then what has to be made again.
    void find_touched(const std::vector<change>& changes) {
        std::vector<char> forward_again(count(g_.op_count), 0);
        std::vector<char> backward_again(count(g_.op_count), 0);
        changed_ops_.assign(count(g_.op_count), 0);
        changed_inputs_.assign(count(g_.tensor_count), 0);
        changed_parameters_.assign(count(g_.parameter_count), 0);
        for (const change& x : changes) {
            changed_ops_[at(x.op)] = 1;
            touch(x.op, forward_again);
            for (int c : consumers_[at(g_.ops[x.op].output)]) {
                touch(c, forward_again);
            }
            for (int t : g_.ops[x.op].inputs) {
                changed_inputs_[at(t)] = 1;
                for (int c : consumers_[at(t)]) {
                    touch(c, forward_again);
                }
                if (g_.tensors[t].producer >= 0) {
                    touch_backward(g_.tensors[t].producer, backward_again);
                }
            }
            for (int p : g_.ops[x.op].parameters) {
                changed_parameters_[at(p)] = 1;
                for (int u : users_[at(p)]) {
                    touch_backward(u, backward_again);
                }
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
        if (g_.facts(op).view) {
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
        for (int t : g_.ops[op].inputs) {
            if (g_.facts(op).passes_gradient && g_.tensors[t].producer >= 0) {
                touch_backward(g_.tensors[t].producer, marks);
            }
        }
    }
    bool is_touched(int f) const { return marks_[at(f)] != 0; }

    // ---- remembering and returning ------------------------------------------------------------------------------------------

    void remember(const std::vector<change>& changes) {
        undo_ = {};
        for (const change& x : changes) {
            undo_.ops.push_back({x.op, own_.ops[at(x.op)]});
            undo_.shards.push_back(shards_[at(x.op)]);
        }
        undo_.pool = own_.pool.size();
        undo_.tiles = p_.tiles.size();
        undo_.moved_bytes = p_.moved_bytes;
        saved_place_.assign(count(g_.tensor_count), -1);
        saved_parameter_place_.assign(count(g_.parameter_count), -1);
        const auto save = [this](int t) {
            if (saved_place_[at(t)] < 0) {
                saved_place_[at(t)] = static_cast<int>(undo_.tensors.size());
                undo_.tensors.push_back(
                    {t, values_[at(t)], gathered_values_[at(t)], gradients_[at(t)], gathered_gradients_[at(t)]});
            }
        };
        for (int f : touched_) {
            const op_node& node = g_.ops[f < g_.op_count ? f : fragment_count() - 1 - f];
            save(node.output);
            for (int t : node.inputs) {
                save(t);
            }
            for (int p : node.parameters) {
                if (saved_parameter_place_[at(p)] < 0) {
                    saved_parameter_place_[at(p)] = static_cast<int>(undo_.parameters.size());
                    undo_.parameters.push_back({p, parameters_[at(p)], parameter_gradients_[at(p)]});
                }
            }
            p_.moved_bytes -= fragments_[at(f)].moved_bytes;
            undo_.fragments.push_back(static_cast<fragment&&>(fragments_[at(f)]));
        }
        undo_.intermediate_count = intermediates_.size();
        for (std::size_t i = 0; i < intermediates_.size(); ++i) {
            if (is_touched(fragment_count() - 1 - intermediates_[i].first / max_operands)) {
                undo_.intermediates.push_back({i, intermediates_[i].second});
            }
        }
    }
    /// Returns to what was before remember().
    void restore() {
        for (std::size_t i = undo_.ops.size(); i-- > 0;) {
            own_.ops[at(undo_.ops[i].first)] = undo_.ops[i].second;
            shards_[at(undo_.ops[i].first)] = static_cast<std::vector<shard>&&>(undo_.shards[i]);
        }
        own_.pool.resize(undo_.pool);
        s_ = own_.view();
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
        for (auto& [which, states] : undo_.intermediates) {
            intermediates_[which].second = static_cast<intermediate_states&&>(states);
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

    strategy own_;
    std::vector<std::vector<int>> consumers_; ///< of every tensor
    std::vector<std::vector<int>> users_;     ///< of every parameter
    std::vector<fragment> fragments_;
    std::vector<int> creator_; ///< fragment that made each tile, or -1
    std::vector<int> touched_;
    std::vector<char> marks_;
    std::vector<char> changed_ops_;
    std::vector<char> changed_inputs_;
    std::vector<char> changed_parameters_;
    std::vector<int> saved_place_; ///< of tensors among the saved ones
    std::vector<int> saved_parameter_place_;
    undo_log undo_;
};

} // namespace tessera::simulation
