// SPDX-License-Identifier: Apache-2.0
// Bodies of explain.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/explain/explain.hpp"

namespace tessera::search::detail {

TESSERA_INLINE step_pricer::step_pricer(const graph_view& g, const cluster& on, const strategy& s,
                                        const explain_options& o)
    : on_(on), g_(g), s_(s), options_(o) {
    bool plain = !waits_count(on) && s.micro_batches == 1 && s.schedule.stages == 0 &&
                 o.lowering.update.clip_norm == 0 && !o.lowering.update.is_layerwise();
    for (const configuration& c : s.ops) {
        plain = plain && c.stage == 0 && keeps_results(c);
    }
    if (plain) {
        delta_.emplace_back(g, on, s, o.times, o.lowering);
    }
}

TESSERA_INLINE index_t step_pricer::with(int op, const alternative& a) {
    if (!delta_.empty()) {
        const index_t step = delta_.front().propose(op, a.what, a.devices);
        delta_.front().reject();
        return step;
    }
    strategy changed = s_;
    changed.ops[to_size(op)] = a.what;
    changed.place(op, a.devices);
    return price(changed);
}

TESSERA_INLINE index_t step_pricer::price(const strategy& s) const {
    return simulate_finished(g_, on_, s, options_.times, options_.lowering).makespan;
}

TESSERA_INLINE std::vector<int> devices_of(const configuration& c, const std::vector<index_t>& pool) {
    std::vector<int> all;
    for (int i = 0; i < c.shards(); ++i) {
        all.push_back(c.devices >= 0 ? static_cast<int>(pool[to_size(c.devices + i)]) : c.start + c.stride * i);
    }
    return all;
}

TESSERA_INLINE std::vector<int> room_of(const strategy& s, int op, int devices) {
    std::vector<char> used(to_size(devices), s.schedule.stages == 0 ? 1 : 0);
    for (const configuration& c : s.ops) {
        if (c.stage == s.ops[to_size(op)].stage) {
            for (const int d : devices_of(c, s.pool)) {
                used[to_size(d)] = 1;
            }
        }
    }
    std::vector<int> room;
    for (int d = 0; d < devices; ++d) {
        if (used[to_size(d)] != 0) {
            room.push_back(d);
        }
    }
    return room;
}

TESSERA_INLINE void add_model_costs(const graph_view& g, const strategy& s, int op, const machine& on, alternative& a) {
    strategy changed = s;
    changed.ops[to_size(op)] = a.what;
    changed.place(op, a.devices);
    const strategy_view v = changed.view();
    const cost::op_model m = cost::model_of(g, op);
    a.compute = cost::compute_time(m, v.ops[op], v.pool, on);
    a.synchronization = cost::synchronization_time(m, v.ops[op], v.pool, on, v.statistics == statistics_over::replica);
    a.transfer = on.devices > most_compared ? -1 : 0;
    for (int reader = 0; reader < g.op_count && a.transfer >= 0; ++reader) {
        for (int k = 0; k < g.ops[reader].inputs.size(); ++k) {
            const int producer = g.tensors[g.ops[reader].inputs[k]].producer;
            if (producer < 0 || (reader != op && producer != op)) {
                continue;
            }
            const description d = g.describe(reader);
            const int input = d.find_operand(operand_kind::input, k);
            a.transfer += cost::bytes_between(g.describe(producer), v.ops[producer], d, input, v.ops[reader], v.pool,
                                              d.operands[input].differentiable)
                              .time(on);
        }
    }
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE explanation explain(const graph_view& g, const cluster& on, const strategy& s, int op,
                                   const explain_options& options) {
    if (op < 0 || op >= g.op_count) {
        throw error("tessera: there is no operator " + std::to_string(op) + " to explain; the network has " +
                    std::to_string(g.op_count));
    }
    require(g, s.view(), on.devices());
    explanation e;
    e.op = op;
    const plan p = lower(g, s.view(), on.devices(), options.lowering); // binding by the cost model moves nothing
    for (const movement& m : movements_of(g, p)) {
        if (concerns(g, m, op)) {
            e.moves.push_back(m);
        }
    }
    std::sort(e.moves.begin(), e.moves.end(), [](const movement& a, const movement& b) { return a.bytes > b.bytes; });

    const configuration& mine = s.ops[to_size(op)];
    alternative now;
    now.what = mine;
    now.devices = detail::devices_of(mine, s.pool);
    now.chosen = true;
    e.alternatives.push_back(now);
    const std::vector<int> room = detail::room_of(s, op, on.devices());
    for (const configuration& c : enumerate(g.describe(op), static_cast<int>(room.size()), options.offered)) {
        alternative a;
        a.what = c;
        copy_all_but_shards(a.what, mine);
        std::vector<std::vector<int>> places{
            std::vector<int>(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(c.shards()))};
        if (c.shards() == mine.shards()) {
            places.push_back(now.devices);
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
            a.devices = places[i];
            bool known = false;
            for (const alternative& other : e.alternatives) {
                bool same = other.devices == a.devices && other.what.partial == 1 && other.what.replicate == 1;
                for (int l = 0; l < max_loops; ++l) {
                    same = same && other.what.degree[l] == a.what.degree[l] && other.what.cuts[l] < 0;
                }
                known = known || same;
            }
            strategy changed = s;
            changed.ops[to_size(op)] = a.what;
            changed.place(op, a.devices);
            if (!known && !check_strategy(g, changed.view(), on.devices())) {
                e.alternatives.push_back(a);
            }
        }
    }
    const machine uniform = uniform_machine(on, g.ops[op].attributes.math);
    detail::step_pricer price(g, on, s, options);
    e.step = price.now();
    for (alternative& a : e.alternatives) {
        a.step = a.chosen ? e.step : price.with(op, a);
        detail::add_model_costs(g, s, op, uniform, a);
    }
    std::vector<alternative>& list = e.alternatives;
    for (std::size_t i = 1; i < list.size(); ++i) { // a stable sort: among equals the order of enumeration
        for (std::size_t k = i; k > 0 && list[k].step < list[k - 1].step; --k) {
            std::swap(list[k], list[k - 1]);
        }
    }
    return e;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
