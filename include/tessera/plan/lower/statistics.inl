// SPDX-License-Identifier: Apache-2.0
// Bodies of statistics.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/statistics.hpp"

namespace tessera::lowering {

TESSERA_INLINE micro_batch_places& select(micro_batch_list& all, plan_writer& out, int number) {
    out.micro_batch = number;
    return all[to_size(number)];
}

TESSERA_INLINE void add_running(const lowering_input& in, plan_writer& out, int op, const shard& s,
                                const running_update& x) {
    const description& d = in.desc(op);
    task& t = add_compute(in, out, op, pass::update, x.shard_number, s, 0, 0);
    t.mutable_compute().value[d.find_operand(operand_kind::intermediate, 0)] = x.source;
    t.mutable_compute().value[d.find_operand(operand_kind::state, 2)] = x.target;
    t.mutable_compute().samples = x.samples;
    t.mutable_compute().running = x.target;
    t.reads = {x.source, x.target};
    t.writes = {x.target};
}

TESSERA_INLINE int add_statistics(const lowering_input& in, plan_writer& out, int op, int which, const shard& s) {
    const int sum = add_intermediate(in, out, tile_kind::intermediate, op, which, in.region_of(op, which, s), s.device,
                                     in.desc(op).operands[which].type);
    out[sum].micro_batch = -1;
    return sum;
}

TESSERA_INLINE int whole_statistics(const lowering_input& in, network_places& net, micro_batch_list& all,
                                    plan_writer& out, int op, int which, int number, const shard& s) {
    const int last = out.micro_batch;
    if (all.size() == 1 || in.is_joint(op)) {
        return read_tile(in, net, all[to_size(last)], out, op, which, s, pass::update);
    }
    std::vector<int> from;
    for (int m = 0; m < in.s.micro_batches; ++m) {
        if (!in.samples_of(m).empty()) {
            from.push_back(read_tile(in, net, select(all, out, m), out, op, which, s, pass::update));
        }
    }
    select(all, out, last);
    return add_sum(out, op, pass::update, number, s.device, from, add_statistics(in, out, op, which, s));
}

TESSERA_INLINE void update_from_first(const lowering_input& in, network_places& net, micro_batch_list& all,
                                      plan_writer& out, int op) {
    const description& d = in.desc(op);
    const int running = d.find_operand(operand_kind::state, 2);
    const int statistics = d.find_operand(operand_kind::intermediate, 0);
    const int l = statistics_loop(d);
    const int last = out.micro_batch;
    std::vector<int> done;
    const std::vector<shard>& shards = all[0].shards[to_size(op)];
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const int target = parameter_tile(in, net, out, op, running, shards[i]);
        if (std::find(done.begin(), done.end(), target) != done.end()) {
            continue;
        }
        shard home = shards[i];
        home.device = out[target].device;
        std::vector<int> from;
        index_t samples = 0;
        for (int m = 0; m < in.s.micro_batches; ++m) {
            const interval own = all[to_size(m)].shards[to_size(op)][i].ranges[l];
            if (!own.empty()) {
                from.push_back(read_tile(in, net, select(all, out, m), out, op, statistics, home, pass::update));
                samples += own.size();
            }
        }
        select(all, out, last);
        if (from.empty()) {
            continue;
        }
        done.push_back(target);
        int sum = from[0];
        if (in.s.micro_batches > 1) {
            sum = add_statistics(in, out, op, statistics, home);
            out[sum].replica = in.replica_of(op, home);
            add_sum(out, op, pass::update, static_cast<int>(i), home.device, from, sum);
        }
        add_running(in, out, op, home, {static_cast<int>(i), sum, target, samples});
    }
}

TESSERA_INLINE void update_running(const lowering_input& in, network_places& net, micro_batch_list& all,
                                   plan_writer& out, int op) {
    if (in.takes_own_statistics(op)) {
        update_from_first(in, net, all, out, op);
        return;
    }
    const int running = in.desc(op).find_operand(operand_kind::state, 2);
    const int statistics = in.desc(op).find_operand(operand_kind::intermediate, 0);
    std::vector<int> done;
    for (const micro_batch_places& m : all) { // mirrored ones have copies of their own
        const std::vector<shard>& shards = m.shards[to_size(op)];
        for (std::size_t i = 0; i < shards.size(); ++i) {
            const int number = static_cast<int>(i);
            const int target = parameter_tile(in, net, out, op, running, shards[i]);
            // Also for a shard without samples: its copy must stay equal to the others.
            if (std::find(done.begin(), done.end(), target) == done.end()) {
                done.push_back(target);
                const int source = whole_statistics(in, net, all, out, op, statistics, number, shards[i]);
                add_running(in, out, op, shards[i], {number, source, target, 0});
            }
        }
    }
}

TESSERA_INLINE void forward_and_follow(const lowering_input& in, network_places& net, micro_batch_list& all,
                                       plan_writer& out, int op) {
    forward(in, net, all[to_size(out.micro_batch)], out, op);
    const bool counts =
        in.desc(op).has_running_state() && in.for_training() && !in.is_joint(op) && !in.g.facts(op).view;
    if (counts && (all.size() == 1 || --net.forwards_left[to_size(op)] == 0)) {
        update_running(in, net, all, out, op);
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
