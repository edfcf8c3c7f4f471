// SPDX-License-Identifier: Apache-2.0
// Bodies of lowered_fragments.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/lowered_fragments.hpp"

namespace tessera::simulation {

TESSERA_INLINE network_users::network_users(const graph_view& g)
    : consumers(to_size(g.tensor_count)), users(to_size(g.parameter_count)) {
    const auto add_once = [](std::vector<int>& list, int op) {
        if (list.empty() || list.back() != op) {
            list.push_back(op);
        }
    };
    for (int op = 0; op < g.op_count; ++op) {
        for (int t : g.ops[op].inputs) {
            add_once(consumers[to_size(t)], op);
        }
        for (int p : g.ops[op].parameters) {
            add_once(users[to_size(p)], op);
        }
    }
}

TESSERA_INLINE lowered_fragments::lowered_fragments(const graph_view& g, const strategy& s, int devices,
                                                    const lower_options& o)
    : how(s), in(g, how.view(), devices, o), network(g), out(empty_plan(in)), places(place_network(in, out, all, 1)),
      fragments(to_size(2 * g.op_count)), creator(out.p.tiles.size(), -1) {}

TESSERA_INLINE bool lowers_in_fragments(const lower_options& o) {
    return o.update.clip_norm <= 0 && !o.update.is_layerwise() && o.output_gradient < 0 && o.kind == run_kind::training;
}

TESSERA_INLINE bool lowers_in_fragments(const strategy& s) {
    bool staged = s.micro_batches > 1 || s.schedule.stages > 0;
    for (const configuration& c : s.ops) {
        staged = staged || c.stage != 0 || c.recompute || c.offload || c.ring;
    }
    return !staged && s.parameters_on < 0 && !s.overlap && !s.sums_first && !s.state_on_host && s.sync.is_usual() &&
           s.steps_per_plan == 1;
}

TESSERA_INLINE const strategy& require_fragments(const strategy& s, const lower_options& o) {
    if (!lowers_in_fragments(o)) {
        throw error("tessera: operators are lowered one by one for training without clipping and without a gradient "
                    "from outside; lower() the whole network instead");
    }
    if (!lowers_in_fragments(s)) {
        throw error("tessera: operators are lowered one by one without micro-batches, stages, recomputation and rings, "
                    "without communication streams, sums before sending, each gradient synchronized by itself, and "
                    "with parameters where "
                    "shards need them; lower() the whole network instead");
    }
    return s;
}

TESSERA_INLINE void make(lowered_fragments& x, int f) {
    const index_t before = x.out.p.moved_bytes;
    const int op = x.operator_of(f);
    x.out.p.tasks.clear();
    if (x.is_forward(f)) {
        forward_and_follow(x.in, x.places, x.all, x.out, op);
    } else {
        for (int p : x.in.g.ops[op].parameters) { // the first user, which comes last, updates
            x.places.uses_left[to_size(p)] = x.in.first_user[to_size(p)] == op ? 0 : x.in.g.op_count + 8;
        }
        for (int p : x.in.g.ops[op].parameters) {
            ++x.places.uses_left[to_size(p)];
        }
        backward_and_finish(x.in, x.places, x.batch(), x.sync, x.out, op);
    }
    x.fragments[to_size(f)].tasks.swap(x.out.p.tasks);
    x.fragments[to_size(f)].moved_bytes = x.out.p.moved_bytes - before;
    x.creator.resize(x.out.p.tiles.size(), f);
    x.places.contribution_keys.resize(x.out.p.tiles.size(), -1);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
