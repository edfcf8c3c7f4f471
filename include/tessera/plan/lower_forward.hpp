// SPDX-License-Identifier: Apache-2.0
// Lowering of the forward pass: the tasks of every operator, what they read and what they make.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// True where no intermediate has to be reduced between shards, so that all nests make one task.
template <class Options>
bool lowering<Options>::fuses(int op) const {
    for (int k = 0; k + 1 < desc(op).nests.size(); ++k) {
        if (added_parts(op, k) > 1) {
            return false;
        }
    }
    return true;
}

/// `again`: to have the results once more for backward.
template <class Options>
void lowering<Options>::forward(int op, bool again) {
    const bool evaluation = o_.kind == run_kind::evaluation;
    const pass what = evaluation ? pass::evaluate : again ? pass::recompute : pass::forward;
    const bool normalizes = desc(op).has_running_state();
    if (g_.facts(op).view) {
        take_view(op);
        return;
    }
    const int nests = desc(op).nests.size();
    if (normalizes && (evaluation || is_joint(op))) { // with statistics that are there
        forward_nests(op, nests - 1, nests - 1, what);
    } else if (fuses(op)) {
        forward_nests(op, 0, nests - 1, what);
    } else {
        for (int k = 0; k < nests; ++k) {
            forward_nests(op, k, k, what);
        }
    }
    const bool counts = normalizes && !evaluation && !again && !is_joint(op);
    if (counts && (p_.micro_batches == 1 || --forwards_left_[at(op)] == 0)) {
        update_running(op);
    }
}

/// All micro-batches leave their part of the statistics before the first one is normalized.
template <class Options>
void lowering<Options>::forward_jointly(int op) {
    for_each_together([&] { forward_nests(op, 0, desc(op).nests.size() - 2, pass::forward); });
    for_each_together([&] { forward(op); });
    update_running(op);
}

template <class Options>
void lowering<Options>::forward_nests(int op, int first, int last, pass what) {
    const description& d = desc(op);
    const auto& all = shards_[at(op)];
    for (std::size_t i = 0; i < all.size(); ++i) {
        const shard& s = all[i];
        if (is_empty(s, op)) {
            continue;
        }
        int value[max_operands];
        std::uint32_t written = 0;
        std::uint32_t read = 0;
        for (int k = first; k <= last; ++k) {
            written |= bit(d.nests[k].write);
            read |= d.nests[k].reads;
        }
        if (what == pass::evaluate && d.has_running_state()) {
            read |= bit(d.running_state());
            read &= ~bit(d.find_operand(operand_kind::intermediate, 0));
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            value[o] = has(written, o) ? output_tile(op, o, s) : has(read, o) ? read_tile(op, o, s, what) : -1;
        }
        task& t = add_compute(op, what, static_cast<int>(i), s, first, last);
        for (int o = 0; o < d.operands.size(); ++o) {
            t.value[o] = value[o];
            if (has(written, o)) {
                t.writes.push_back(value[o]);
            } else if (has(read, o)) {
                t.reads.push_back(value[o]);
            }
        }
    }
}

template <class Options>
int lowering<Options>::read_tile(int op, int o, const shard& s, pass what) {
    const operand& x = desc(op).operands[o];
    switch (x.kind) {
    case operand_kind::input:
        return need_value(g_.ops[op].inputs[x.slot], region_of(op, o, s), s, op, what);
    case operand_kind::parameter:
    case operand_kind::state:
        return parameter_value(op, o, s, what);
    case operand_kind::intermediate:
        return need_intermediate(intermediate(op, o, s).values, tile_kind::intermediate, op, o, s, what);
    case operand_kind::output:
        break;
    }
    const int tensor = g_.ops[op].output;
    for (const piece& p : values_[at(tensor)].pieces) {
        if (p.device == s.device && p.region == region_of(op, o, s)) {
            return p.tile;
        }
    }
    return -1;
}

template <class Options>
int lowering<Options>::output_tile(int op, int o, const shard& s) {
    const operand& x = desc(op).operands[o];
    const box region = region_of(op, o, s);
    int nest_number = 0;
    for (int k = 0; k < desc(op).nests.size(); ++k) {
        nest_number = desc(op).nests[k].write == o ? k : nest_number;
    }
    const bool is_output = x.kind == operand_kind::output;
    const int parts = added_parts(op, nest_number);
    const bool joint = is_joint(op) && !is_output;
    // Of one replica's statistics it is counted without the samples, which are the loop that varies slowest.
    const int part = part_of_nest(s, config(op), desc(op), nest_number) % parts + (joint ? micro_batch_ * parts : 0);
    located& where = is_output ? values_[at(g_.ops[op].output)] : intermediate(op, o, s).values.made;
    where.parts = joint ? parts * p_.micro_batches : parts;
    where.reduce = desc(op).nests[nest_number].reduce == reducer::max && !is_output ? reducer::max : reducer::sum;
    const int t = is_output ? add_tile(tile_kind::activation, g_.ops[op].output, region, s.device, x.type)
                            : add_tile(tile_kind::intermediate, op * max_operands + o, region, s.device, x.type);
    tile_at(t).part = part;
    tile_at(t).replica = is_output ? 0 : replica_of(op, s);
    where.pieces.push_back({region, s.device, part, t});
    return t;
}

/// A view renames indices: its output is its input's memory.
template <class Options>
void lowering<Options>::take_view(int op) {
    const description& d = desc(op);
    const int in = g_.ops[op].inputs[0];
    const int out = g_.ops[op].output;
    values_[at(out)].parts = parts_of_nest(config(op), d, 0);
    for (const shard& s : shards_[at(op)]) {
        if (is_empty(s, op)) {
            continue;
        }
        const int source = need_value(in, region_of(op, 0, s), s, op, pass::forward);
        const box region = region_of(op, d.output(), s);
        const int t = add_tile(tile_kind::activation, out, region, s.device, g_.tensors[out].type);
        tile_at(t).alias = source;
        tile_at(t).part = part_of_nest(s, config(op), d, 0);
        values_[at(out)].pieces.push_back({region, s.device, tile_at(t).part, t});
    }
}

/// Running statistics follow the statistics of the whole batch, once for every copy of them, when its last micro-batch has gone forward.
template <class Options>
void lowering<Options>::update_running(int op) {
    if (takes_own_statistics(op)) {
        update_from_first(op);
        return;
    }
    const description& d = desc(op);
    const int running = d.find_operand(operand_kind::state, 2);
    const int statistics = d.find_operand(operand_kind::intermediate, 0);
    std::vector<int> done;
    for (int m = 0; m < p_.micro_batches; ++m) { // mirrored ones have copies of their own
        const std::vector<shard> all = shards_of(op, m);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const int target = parameter_tile(op, running, all[i]);
            bool again = false; // also for a shard without samples: its copy must stay equal to the others
            for (int t : done) {
                again = again || t == target;
            }
            if (again) {
                continue;
            }
            done.push_back(target);
            const int source = whole_statistics(op, statistics, static_cast<int>(i), all[i]);
            add_running(op, static_cast<int>(i), all[i], source, target, 0);
        }
    }
}

template <class Options>
void lowering<Options>::add_running(int op, int number, const shard& s, int source, int target, index_t samples) {
    task& t = add_compute(op, pass::update, number, s, 0, 0);
    t.value[desc(op).find_operand(operand_kind::intermediate, 0)] = source;
    t.value[desc(op).find_operand(operand_kind::state, 2)] = target;
    t.samples = samples;
    t.running = target;
    t.reads = {source, target};
    t.writes = {target};
}

/// Where every shard of samples takes its own statistics, the running ones follow those of the first that has samples.
template <class Options>
void lowering<Options>::update_from_first(int op) {
    const int running = desc(op).find_operand(operand_kind::state, 2);
    const int statistics = desc(op).find_operand(operand_kind::intermediate, 0);
    const int l = statistics_loop(desc(op));
    const int last = micro_batch_;
    std::vector<int> done;
    const std::vector<shard> all = shards_of(op, 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const int target = parameter_tile(op, running, all[i]);
        bool again = false;
        for (int t : done) {
            again = again || t == target;
        }
        if (again) {
            continue;
        }
        shard home = all[i];
        home.device = tile_at(target).device;
        std::vector<int> from;
        index_t samples = 0;
        for (int m = 0; m < p_.micro_batches; ++m) {
            select(m);
            const interval own = shards_[at(op)][i].ranges[l];
            if (!own.empty()) {
                from.push_back(read_tile(op, statistics, home, pass::update));
                samples += own.size();
            }
        }
        select(last);
        if (from.empty()) {
            continue;
        }
        done.push_back(target);
        int sum = from[0];
        if (p_.micro_batches > 1) {
            sum = add_tile(tile_kind::intermediate, op * max_operands + statistics, region_of(op, statistics, home),
                           home.device, desc(op).operands[statistics].type);
            tile_at(sum).micro_batch = -1;
            tile_at(sum).replica = replica_of(op, home);
            add_sum(op, pass::update, static_cast<int>(i), home.device, from, sum);
        }
        add_running(op, static_cast<int>(i), home, sum, target, samples);
    }
}

/// The tile with a shard's statistics over all micro-batches.
template <class Options>
int lowering<Options>::whole_statistics(int op, int o, int number, const shard& s) {
    if (p_.micro_batches == 1 || is_joint(op)) {
        return read_tile(op, o, s, pass::update);
    }
    std::vector<int> from;
    const int last = micro_batch_;
    for (int m = 0; m < p_.micro_batches; ++m) {
        select(m);
        if (!samples_.empty()) {
            from.push_back(read_tile(op, o, s, pass::update));
        }
    }
    select(last);
    const int sum = add_tile(tile_kind::intermediate, op * max_operands + o, region_of(op, o, s), s.device,
                             desc(op).operands[o].type);
    tile_at(sum).micro_batch = -1;
    return add_sum(op, pass::update, number, s.device, from, sum);
}

} // namespace tessera::detail
