// SPDX-License-Identifier: Apache-2.0
// Why an operator has the configuration that it has: what each alternative would cost, the rest of the strategy staying as it is, and what
// moves because of the operator.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/additive.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/movements.hpp"
#include "tessera/search/configurations.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/simulate/delta/delta.hpp"

namespace tessera::search {

/// A configuration that an operator might have, and what it would cost.
struct alternative {
    configuration what;       ///< without a place in a pool: `devices` has it
    std::vector<int> devices; ///< of every shard
    bool chosen = false;
    index_t step = 0;            ///< ns of the whole step, simulated, everything else as it is
    index_t compute = 0;         ///< ns by the additive model (OptCNN's t_C) on uniform_machine()
    index_t synchronization = 0; ///< t_S
    index_t transfer =
        0; ///< t_X of all edges of the operator; -1 on more than most_compared devices, where it takes long to count
};

inline constexpr int most_compared = 32;

struct explanation {
    int op = -1;
    index_t step = 0;                      ///< ns of the strategy's step, simulated
    std::vector<alternative> alternatives; ///< the chosen one among them; fastest step first
    std::vector<movement> moves;           ///< most bytes first
};

struct explain_options {
    configuration_options offered;
    simulation::task_times times;
    lower_options lowering;
};

namespace detail {

/// Prices whole steps in which one operator differs: by delta simulation, or, where micro-batches, stages or recomputation forbid it, or waits of the finished
/// plan count, by lowering everything again.
class step_pricer {
public:
    step_pricer(const graph_view& g, const cluster& on, const strategy& s, const explain_options& o)
        : on_(on), g_(g), s_(s), options_(o) {
        bool plain = !waits_count(on) && s.micro_batches == 1 && s.schedule.stages == 0 &&
                     o.lowering.update.clip_norm == 0 && !o.lowering.update.is_layerwise();
        for (const configuration& c : s.ops) {
            plain = plain && c.stage == 0 && !c.recompute;
        }
        if (plain) {
            delta_.emplace_back(g, on, s, o.times, o.lowering);
        }
    }
    index_t now() const { return delta_.empty() ? price(s_) : delta_.front().makespan(); }
    index_t with(int op, const alternative& a) {
        if (!delta_.empty()) {
            const index_t step = delta_.front().propose(op, a.what, a.devices);
            delta_.front().reject();
            return step;
        }
        strategy changed = s_;
        changed.ops[static_cast<std::size_t>(op)] = a.what;
        changed.place(op, a.devices);
        return price(changed);
    }

private:
    index_t price(const strategy& s) const {
        return simulate_finished(g_, on_, s, options_.times, options_.lowering).makespan;
    }

    const cluster& on_;
    graph_view g_;
    const strategy& s_;
    const explain_options& options_;
    std::vector<simulation::delta_simulation> delta_; ///< one, or none
};

inline std::vector<int> devices_of(const configuration& c, const std::vector<index_t>& pool) {
    std::vector<int> all;
    for (int i = 0; i < c.shards(); ++i) {
        all.push_back(c.devices >= 0 ? static_cast<int>(pool[static_cast<std::size_t>(c.devices + i)])
                                     : c.start + c.stride * i);
    }
    return all;
}

/// The devices that operators of one stage use, in order: all of them where nothing is staged.
inline std::vector<int> room_of(const strategy& s, int op, int devices) {
    std::vector<char> used(static_cast<std::size_t>(devices), s.schedule.stages == 0 ? 1 : 0);
    for (const configuration& c : s.ops) {
        if (c.stage == s.ops[static_cast<std::size_t>(op)].stage) {
            for (const int d : devices_of(c, s.pool)) {
                used[static_cast<std::size_t>(d)] = 1;
            }
        }
    }
    std::vector<int> room;
    for (int d = 0; d < devices; ++d) {
        if (used[static_cast<std::size_t>(d)] != 0) {
            room.push_back(d);
        }
    }
    return room;
}

/// Prices an alternative by the additive model.
inline void add_model_costs(const graph_view& g, const strategy& s, int op, const machine& on, alternative& a) {
    strategy changed = s;
    changed.ops[static_cast<std::size_t>(op)] = a.what;
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

} // namespace detail

/// Why operator `op` is configured as it is. Alternatives are the configurations offered, placed on the first devices (of its stage, where there
/// are stages), and on those that the operator has now where it has as many shards. Throws tessera::error for an operator that does not exist and
/// for a strategy that breaks the rules.
inline explanation explain(const graph_view& g, const cluster& on, const strategy& s, int op,
                           const explain_options& options = {}) {
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

    const configuration& mine = s.ops[static_cast<std::size_t>(op)];
    alternative now;
    now.what = mine;
    now.devices = detail::devices_of(mine, s.pool);
    now.chosen = true;
    e.alternatives.push_back(now);
    const std::vector<int> room = detail::room_of(s, op, on.devices());
    for (const configuration& c : enumerate(g.describe(op), static_cast<int>(room.size()), options.offered)) {
        alternative a;
        a.what = c;
        a.what.stage = mine.stage;
        a.what.recompute = mine.recompute;
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
            changed.ops[static_cast<std::size_t>(op)] = a.what;
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
