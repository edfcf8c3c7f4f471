// SPDX-License-Identifier: Apache-2.0
// The tasks of a network in fragments, one for every operator forward and one backward: the values that lowering works on, held from one change
// to the next, so that the functions that make lower()'s plan make a fragment of it again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/strategy/change.hpp"

namespace tessera::simulation {

using lowering::at;

/// The operators that read each tensor and use each parameter, each once, in their order.
struct network_users {
    std::vector<std::vector<int>> consumers; ///< of every tensor
    std::vector<std::vector<int>> users;     ///< of every parameter

    explicit network_users(const graph_view& g) : consumers(at(g.tensor_count)), users(at(g.parameter_count)) {
        const auto add_once = [](std::vector<int>& list, int op) {
            if (list.empty() || list.back() != op) {
                list.push_back(op);
            }
        };
        for (int op = 0; op < g.op_count; ++op) {
            for (int t : g.ops[op].inputs) {
                add_once(consumers[at(t)], op);
            }
            for (int p : g.ops[op].parameters) {
                add_once(users[at(p)], op);
            }
        }
    }
};

struct fragment {
    std::vector<task> tasks;
    index_t moved_bytes = 0;
};

/// A network that is lowered fragment by fragment. The fragments' tasks in order of their numbers are lower()'s tasks. Fragment op is operator op
/// forward, fragment 2 * operators - 1 - op is it backward, with the updates of the parameters that it is the first to use.
struct lowered_fragments {
    strategy how;
    lowering::lowering_input in; ///< of `how`
    network_users network;
    lowering::plan_writer out;       ///< all tiles, and the tasks of the fragment that is being made
    lowering::micro_batch_list all;  ///< one
    lowering::network_places places; ///< of the network
    lowering::synchronization_places sync;
    std::vector<fragment> fragments;
    std::vector<int> creator; ///< fragment that made each tile, or -1

    lowered_fragments(const graph_view& g, const strategy& s, int devices, const lower_options& o)
        : how(s), in(g, how.view(), devices, o), network(g), out(empty_plan(in)),
          places(place_network(in, out, all, 1, 1)), fragments(at(2 * g.op_count)), creator(out.p.tiles.size(), -1) {}
    lowered_fragments(lowered_fragments&&) = default; // what lowering reads looks into `how`
    lowered_fragments& operator=(lowered_fragments&&) = default;

    lowering::micro_batch_places& batch() { return all[0]; }
    int count() const { return 2 * in.g.op_count; }
    bool is_forward(int f) const { return f < in.g.op_count; }
    int operator_of(int f) const { return is_forward(f) ? f : count() - 1 - f; }
    int backward_of(int op) const { return count() - 1 - op; }
};

/// Options that make operators depend on others far away are not lowered in fragments: clipping by the global norm, steps scaled by norms of parameters, and gradients handed in from
/// outside.
inline bool lowers_in_fragments(const lower_options& o) {
    return o.update.clip_norm <= 0 && !o.update.is_layerwise() && o.output_gradient < 0 && o.kind == run_kind::training;
}
/// Nor are micro-batches, stages, recomputation, communication streams and messages of several gradients.
inline bool lowers_in_fragments(const strategy& s) {
    bool staged = s.micro_batches > 1 || s.schedule.stages > 0;
    for (const configuration& c : s.ops) {
        staged = staged || c.stage != 0 || c.recompute;
    }
    return !staged && s.parameters_on < 0 && !s.overlap && s.sync.is_usual() && s.period == 1;
}
/// The strategy itself; throws tessera::error for what is not lowered in fragments.
inline const strategy& require_fragments(const strategy& s, const lower_options& o) {
    if (!lowers_in_fragments(o)) {
        throw error("tessera: operators are lowered one by one for training without clipping and without a gradient "
                    "from outside; lower() the whole network instead");
    }
    if (!lowers_in_fragments(s)) {
        throw error("tessera: operators are lowered one by one without micro-batches, stages and recomputation, "
                    "without communication streams, each gradient synchronized by itself, and with parameters where "
                    "shards need them; lower() the whole network instead");
    }
    return s;
}

/// Makes a fragment's tasks from where everything is.
inline void make(lowered_fragments& x, int f) {
    const index_t before = x.out.p.moved_bytes;
    const int op = x.operator_of(f);
    x.out.p.tasks.clear();
    if (x.is_forward(f)) {
        forward_and_follow(x.in, x.places, x.all, x.out, op);
    } else {
        for (int p : x.in.g.ops[op].parameters) { // the first user, which comes last, updates
            x.places.uses_left[at(p)] = x.in.first_user[at(p)] == op ? 0 : x.in.g.op_count + 8;
        }
        for (int p : x.in.g.ops[op].parameters) {
            ++x.places.uses_left[at(p)];
        }
        backward_and_finish(x.in, x.places, x.batch(), x.sync, x.out, op);
    }
    x.fragments[at(f)].tasks.swap(x.out.p.tasks);
    x.fragments[at(f)].moved_bytes = x.out.p.moved_bytes - before;
    x.creator.resize(x.out.p.tiles.size(), f);
    x.places.contribution_keys.resize(x.out.p.tiles.size(), -1);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
