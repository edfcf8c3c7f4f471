// SPDX-License-Identifier: Apache-2.0
// Bodies of bound.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/bound.hpp"

namespace tessera::search {

TESSERA_INLINE std::string to_text(const strategy_bound& b) {
    if (!b.none.empty()) {
        return "no bound: " + b.none;
    }
    char text[200];
    if (b.bound <= 0) {
        print_to(text, sizeof text, "no bound above 0 under the additive model, where it takes %.3f ms",
                 static_cast<double>(b.cost) * 1e-6);
    } else if (b.cost == b.bound) {
        print_to(text, sizeof text, "the best possible under the additive model: %.3f ms",
                 static_cast<double>(b.cost) * 1e-6);
    } else {
        print_to(text, sizeof text,
                 "at most %.1f %% above the best possible under the additive model: %.3f ms, and none below %.3f",
                 100 * b.gap(), static_cast<double>(b.cost) * 1e-6, static_cast<double>(b.bound) * 1e-6);
    }
    return text;
}

TESSERA_INLINE std::string unpriced(const graph_view& g, const strategy& s, int devices) {
    if (s.schedule.stages > 0) {
        return "the additive model knows no pipelines";
    }
    if (s.micro_batches > 1) {
        return "the additive model knows no micro-batches, and the strategy has " + std::to_string(s.micro_batches);
    }
    if (!s.sync.is_usual() || s.steps_per_plan > 1) {
        return "the additive model knows no policy of synchronization but that of every gradient by itself";
    }
    if (s.state_on_host) {
        return "the additive model knows no state of the optimizer on the host";
    }
    if (s.parameters_on >= 0) {
        return "the additive model knows no parameters that one device keeps for all";
    }
    if (s.statistics != statistics_over::micro_batch) {
        return "statistics of each replica are other numbers than those of the batch";
    }
    const auto name = [&](int op) { return "layer '" + paths_of(g).ops[to_size(op)] + "'"; };
    std::vector<int> user(to_size(devices), -1);
    for (int op = 0; op < g.op_count; ++op) {
        const configuration& c = s.ops[to_size(op)];
        if (c.recompute) {
            return name(op) + " repeats forward, which the additive model does not price";
        }
        if (c.offload) {
            return name(op) + " offloads, which the additive model does not price";
        }
        if (c.partial > 1) {
            return name(op) + " passes parts of a sum on, which the additive model's bound does not cover";
        }
        const description d = g.describe(op);
        for (int i = 0; i < c.shards(); ++i) {
            int& by = user[to_size(shard_at(c, s.pool.data(), d, i).device)];
            if (by == op) {
                return "two shards of " + name(op) + " share a device, which the additive model does not price";
            }
            by = op;
        }
    }
    return "";
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE free_problem::free_problem(const graph_view& g, const machine& on, const strategy& own,
                                          const bound_options& o)
    : g_(g), on_(on), own_(own), held_(g, o.states), kinds_(kinds_of(g)), nodes_(kinds_.size()) {
    for (int op = 0; op < g.op_count; ++op) {
        kind& k = of(op);
        if (kinds_[to_size(op)] == op) {
            k.model = cost::model_of(g, op);
            for_each_configuration(k.model.d, on.devices, o.offered,
                                   [&](const configuration& c) { k.configurations.push_back(c); });
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        add_own(op);
    }
    for_each_edge(g, [&](int producer, int op, int slot) {
        if (tables_.try_emplace(edge_kind{kinds_[to_size(producer)], kinds_[to_size(op)], slot}).second) {
            work += static_cast<std::int64_t>(of(producer).configurations.size()) *
                    static_cast<std::int64_t>(of(op).configurations.size()) * on.devices;
        }
    });
}

TESSERA_INLINE void free_problem::run() {
    for (int op = 0; op < g_.op_count; ++op) {
        if (kinds_[to_size(op)] == op) {
            price(op);
        }
        costs.add_node(of(op).unary);
        usages.emplace_back();
        for (const configuration& c :
             of(op).configurations) { // alike ones may differ in who is first to use a parameter
            usages.back().push_back(bytes_of_all(op, c));
        }
    }
    for_each_edge(g_, [&](int producer, int op, int slot) {
        costs.add_edge(producer, op, table(kinds_[to_size(producer)], kinds_[to_size(op)], slot));
    });
}

TESSERA_INLINE bool free_problem::own_fits(std::int64_t limit) const {
    std::int64_t sum = 0;
    for (int op = 0; op < g_.op_count; ++op) {
        sum += bytes_of_all(op, own_.ops[to_size(op)]);
    }
    return sum <= limit;
}

TESSERA_INLINE void free_problem::add_own(int op) {
    configuration c = own_.ops[to_size(op)];
    c.start = 0;
    c.stride = 1;
    c.devices = -1;
    const auto same = [&](const configuration& other) {
        bool equal = other.replicate == c.replicate;
        for (int l = 0; l < max_loops; ++l) {
            equal = equal && other.degree[l] == c.degree[l] && other.cuts[l] == c.cuts[l];
        }
        return equal;
    };
    std::vector<configuration>& all = of(op).configurations;
    if (std::none_of(all.begin(), all.end(), same)) {
        all.push_back(c);
        offers_own_ = false;
    }
}

TESSERA_INLINE void free_problem::price(int op) {
    kind& k = of(op);
    const description& d = k.model.d;
    const index_t* pool = own_.pool.data();
    k.inputs.resize(to_size(g_.ops[op].inputs.size()));
    for (const configuration& c : k.configurations) {
        k.unary.push_back(cost::compute_time(k.model, c, pool, on_) +
                          cost::synchronization_time(k.model, c, pool, on_));
        k.output.add(d, d.output(), c, pool);
        for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
            k.inputs[to_size(slot)].add(d, d.find_operand(operand_kind::input, slot), c, pool);
        }
    }
}

TESSERA_INLINE std::int64_t free_problem::bytes_of_all(int op, const configuration& c) const {
    const description& d = of(op).model.d;
    std::int64_t sum = 0;
    for (int i = 0; i < c.shards(); ++i) {
        sum += held_.of(g_, op, d, shard_at(c, own_.pool.data(), d, i));
    }
    return sum;
}

TESSERA_INLINE const std::vector<cost_t>& free_problem::table(int from, int to, int slot) {
    std::vector<cost_t>& times = tables_[edge_kind{from, to, slot}];
    if (times.empty()) {
        const kind& v = nodes_[to_size(to)];
        const operand& input = v.model.d.operands[v.model.d.find_operand(operand_kind::input, slot)];
        times = cost::least_edge_times(nodes_[to_size(from)].output, v.inputs[to_size(slot)], bytes_of(input.type),
                                       input.differentiable, on_);
    }
    return times;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE strategy_bounds::strategy_bounds(const graph_view& g, const cluster& on, const bound_options& o)
    : g_(g), o_(o) {
    if (on.devices() <= most_bounded_devices) {
        on_ = uniform_machine(on, g.ops[0].attributes.math);
    } else {
        none_ =
            std::to_string(on.devices()) + " devices; " + std::to_string(most_bounded_devices) + " at most are bounded";
    }
}

TESSERA_INLINE strategy_bound strategy_bounds::of(const strategy& s) {
    strategy_bound r;
    if (!none_.empty()) {
        r.none = none_;
        return r;
    }
    require(g_, s.view(), on_.devices);
    r.none = unpriced(g_, s, on_.devices);
    if (!r.none.empty()) {
        return r;
    }
    r.cost = cost::total_cost(g_, s.view(), on_);
    detail::free_problem problem(g_, on_, s, o_);
    if (problem.work > o_.most_work) {
        r.none = "its tables would take " + std::to_string(problem.work) + " steps, and " +
                 std::to_string(o_.most_work) + " are allowed";
        return r;
    }
    const std::int64_t limit = on_.capacity > 0 ? on_.capacity * on_.devices : no_limit;
    r.memory = on_.capacity > 0 && problem.own_fits(limit);
    cost_t& kept = known_[r.memory ? 1 : 0];
    if (problem.offers_own() && kept >= 0) {
        r.bound = kept;
        return r;
    }
    problem.run();
    r.bound = solve_modelled(problem.costs, problem.usages, r.memory ? limit : no_limit, o_.solver).bound;
    kept = problem.offers_own() ? r.bound : kept;
    return r;
}

TESSERA_INLINE strategy_bound bound_of(const graph_view& g, const machine& on, const strategy& s,
                                       const bound_options& o) {
    return strategy_bounds(g, on, o).of(s);
}

TESSERA_INLINE strategy_bound bound_of(const graph_view& g, const cluster& on, const strategy& s,
                                       const bound_options& o) {
    return strategy_bounds(g, on, o).of(s);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
