// SPDX-License-Identifier: Apache-2.0
// How far a strategy is from the best one at most, under OptCNN's additive model: a lower bound over all strategies of a
// stated space, wherever their shards run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/cost/free_edges.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/search/certified/network_problem.hpp"

#include <array>
#include <cstdio>
#include <map>

namespace tessera::search {

struct bound_options {
    /// Splits that the bound is over, besides the strategy's own. Uneven shards and sums that are split are among them.
    configuration_options offered{.uneven = true};
    modelled_options solver{.exact = {5'000'000, 300'000'000},
                            .otherwise = {.rounds = 8, .round_work = 20'000'000, .finish_steps = 200'000}};
    /// Of pairs of configurations times their shards, for all kinds of edges together: about ten seconds.
    std::int64_t most_work = 2'000'000'000;
    int states = 0; ///< numbers that the optimizer keeps for each parameter
};

/// What a strategy costs under the additive model, and what every strategy costs at least.
struct strategy_bound {
    cost_t cost = 0;     ///< ns a step
    cost_t bound = 0;    ///< ns a step
    bool memory = false; ///< the bound is over strategies that fit the devices' memory together, as this one does
    std::string none{};  ///< why there is no bound, in words; else empty

    /// At most so much more than the best possible, relative to that.
    double gap() const { return relative_gap(cost, bound); }
};

/// "at most 3.1 % above the best possible under the additive model", or "no bound: " and why.
inline std::string to_text(const strategy_bound& b) {
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

/// Why the additive model does not price a strategy, or "".
inline std::string unpriced(const graph_view& g, const strategy& s, int devices) {
    if (s.schedule.stages > 0) {
        return "the additive model knows no pipelines";
    }
    if (s.micro_batches > 1) {
        return "the additive model knows no micro-batches, and the strategy has " + std::to_string(s.micro_batches);
    }
    if (!s.sync.is_usual() || s.period > 1) {
        return "the additive model knows no policy of synchronization but that of every gradient by itself";
    }
    if (s.parameters_on >= 0) {
        return "the additive model knows no parameters that one device keeps for all";
    }
    if (s.statistics != statistics_over::micro_batch) {
        return "statistics of each replica are other numbers than those of the batch";
    }
    const auto name = [&](int op) { return "layer '" + paths_of(g).ops[detail::at(op)] + "'"; };
    std::vector<int> user(detail::at(devices), -1);
    for (int op = 0; op < g.op_count; ++op) {
        const configuration& c = s.ops[detail::at(op)];
        if (c.recompute) {
            return name(op) + " repeats forward, which the additive model does not price";
        }
        if (c.partial > 1) {
            return name(op) + " passes parts of a sum on, which the additive model's bound does not cover";
        }
        const description d = g.describe(op);
        for (int i = 0; i < c.shards(); ++i) {
            int& by = user[detail::at(shard_at(c, s.pool.data(), d, i).device)];
            if (by == op) {
                return "two shards of " + name(op) + " share a device, which the additive model does not price";
            }
            by = op;
        }
    }
    return "";
}

namespace detail {

/// A network as a problem whose costs are lower bounds for all placements: what each operator is offered, besides the
/// splits of a strategy. Each kind of operators is priced once.
class free_problem {
public:
    additive_problem costs;
    std::vector<std::vector<std::int64_t>> usages; ///< bytes of all shards together
    std::int64_t work = 0;                         ///< of run(): pairs of configurations, times the devices

    free_problem(const graph_view& g, const machine& on, const strategy& own, const bound_options& o)
        : g_(g), on_(on), own_(own), held_(g, o.states), kinds_(kinds_of(g)), nodes_(kinds_.size()) {
        for (int op = 0; op < g.op_count; ++op) {
            kind& k = of(op);
            if (kinds_[at(op)] == op) {
                k.model = cost::model_of(g, op);
                for_each_configuration(k.model.d, on.devices, o.offered,
                                       [&](const configuration& c) { k.configurations.push_back(c); });
            }
        }
        for (int op = 0; op < g.op_count; ++op) {
            add_own(op);
        }
        for_each_edge(g, [&](int producer, int op, int slot) {
            if (tables_.try_emplace(edge_kind{kinds_[at(producer)], kinds_[at(op)], slot}).second) {
                work += static_cast<std::int64_t>(of(producer).configurations.size()) *
                        static_cast<std::int64_t>(of(op).configurations.size()) * on.devices;
            }
        });
    }

    /// True where all of the strategy's splits are offered to every operator, so that the problem is that of others of
    /// which this is true, too.
    bool offers_own() const { return offers_own_; }

    /// Fills the tables.
    void run() {
        for (int op = 0; op < g_.op_count; ++op) {
            kinds_[at(op)] == op ? price(op) : void();
            costs.add_node(of(op).unary);
            usages.emplace_back();
            for (const configuration& c :
                 of(op).configurations) { // alike ones may differ in who is first to use a parameter
                usages.back().push_back(bytes_of_all(op, c));
            }
        }
        for_each_edge(g_, [&](int producer, int op, int slot) {
            costs.add_edge(producer, op, table(kinds_[at(producer)], kinds_[at(op)], slot));
        });
    }

    bool own_fits(std::int64_t limit) const {
        std::int64_t sum = 0;
        for (int op = 0; op < g_.op_count; ++op) {
            sum += bytes_of_all(op, own_.ops[at(op)]);
        }
        return sum <= limit;
    }

private:
    using tiles = cost::tiling<0, 0, 0>;
    struct kind {
        cost::op_model model;
        std::vector<configuration> configurations;
        std::vector<cost_t> unary;
        tiles output;
        std::vector<tiles> inputs;
    };
    using edge_kind = std::array<int, 3>; ///< from, to, slot

    kind& of(int op) { return nodes_[at(kinds_[at(op)])]; }
    const kind& of(int op) const { return nodes_[at(kinds_[at(op)])]; }

    /// Where the strategy's shards run does not matter here.
    void add_own(int op) {
        configuration c = own_.ops[at(op)];
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

    void price(int op) {
        kind& k = of(op);
        const description& d = k.model.d;
        const index_t* pool = own_.pool.data();
        k.inputs.resize(at(g_.ops[op].inputs.size()));
        for (const configuration& c : k.configurations) {
            k.unary.push_back(cost::compute_time(k.model, c, pool, on_) +
                              cost::synchronization_time(k.model, c, pool, on_));
            k.output.add(d, d.output(), c, pool);
            for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
                k.inputs[at(slot)].add(d, d.find_operand(operand_kind::input, slot), c, pool);
            }
        }
    }

    std::int64_t bytes_of_all(int op, const configuration& c) const {
        const description& d = of(op).model.d;
        std::int64_t sum = 0;
        for (int i = 0; i < c.shards(); ++i) {
            sum += held_.of(g_, op, d, shard_at(c, own_.pool.data(), d, i));
        }
        return sum;
    }

    const std::vector<cost_t>& table(int from, int to, int slot) {
        std::vector<cost_t>& times = tables_[edge_kind{from, to, slot}];
        if (times.empty()) {
            const kind& v = nodes_[at(to)];
            const operand& input = v.model.d.operands[v.model.d.find_operand(operand_kind::input, slot)];
            times = cost::least_edge_times(nodes_[at(from)].output, v.inputs[at(slot)], bytes_of(input.type),
                                           input.differentiable, on_);
        }
        return times;
    }

    const graph_view& g_;
    const machine& on_;
    const strategy& own_;
    held_bytes held_;
    std::vector<int> kinds_; ///< the first operator that is alike
    std::vector<kind> nodes_;
    std::map<edge_kind, std::vector<cost_t>> tables_;
    bool offers_own_ = true;
};

} // namespace detail

/// Device graphs with more devices get no bound: their routes alone would take seconds.
inline constexpr int most_bounded_devices = 512;

/// Bounds of strategies of one network on one machine, whose devices are all alike and equally near. The network must
/// outlive it. A bound is over all strategies whose operators are split as the options say or as in the strategy itself,
/// on any devices, no two shards of an operator on one; where the strategy fits the devices' memory as held_bytes counts
/// it, over those that do. What is worked out for strategies that are split as the options say is kept for the next.
class strategy_bounds {
public:
    strategy_bounds(const graph_view& g, const machine& on, const bound_options& o = {}) : g_(g), on_(on), o_(o) {}
    /// On the uniform_machine() of a device graph: every device like the slowest, every two linked like the two that are
    /// furthest apart.
    strategy_bounds(const graph_view& g, const cluster& on, const bound_options& o = {}) : g_(g), o_(o) {
        if (on.devices() <= most_bounded_devices) {
            on_ = uniform_machine(on, g.ops[0].attributes.math);
        } else {
            none_ = std::to_string(on.devices()) + " devices; " + std::to_string(most_bounded_devices) +
                    " at most are bounded";
        }
    }

    /// Throws tessera::error for a strategy that breaks a rule.
    strategy_bound of(const strategy& s) {
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

private:
    const graph_view& g_;
    machine on_;
    bound_options o_;
    std::string none_{}; ///< why nothing has a bound, or empty
    cost_t known_[2] = {-1,
                        -1}; ///< bounds over what the options say, of all strategies and of those that fit; -1: not yet
};

/// The bound of one strategy.
inline strategy_bound bound_of(const graph_view& g, const machine& on, const strategy& s, const bound_options& o = {}) {
    return strategy_bounds(g, on, o).of(s);
}

/// The same on the uniform_machine() of a device graph.
inline strategy_bound bound_of(const graph_view& g, const cluster& on, const strategy& s, const bound_options& o = {}) {
    return strategy_bounds(g, on, o).of(s);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
