// SPDX-License-Identifier: Apache-2.0
// How far a strategy is from the best one at most, under OptCNN's additive model: a lower bound over all strategies of
// a stated space, wherever their shards run.
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
std::string to_text(const strategy_bound& b);

/// Why the additive model does not price a strategy, or "".
std::string unpriced(const graph_view& g, const strategy& s, int devices);

namespace detail {

/// A network as a problem whose costs are lower bounds for all placements: what each operator is offered, besides the
/// splits of a strategy. Each kind of operators is priced once.
class free_problem {
public:
    additive_problem costs;
    std::vector<std::vector<std::int64_t>> usages; ///< bytes of all shards together
    std::int64_t work = 0;                         ///< of run(): pairs of configurations, times the devices

    free_problem(const graph_view& g, const machine& on, const strategy& own, const bound_options& o);

    /// True where all of the strategy's splits are offered to every operator, so that the problem is that of others of
    /// which this is true, too.
    bool offers_own() const { return offers_own_; }

    /// Fills the tables.
    void run();

    bool own_fits(std::int64_t limit) const;

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

    kind& of(int op) { return nodes_[to_size(kinds_[to_size(op)])]; }
    const kind& of(int op) const { return nodes_[to_size(kinds_[to_size(op)])]; }

    /// Where the strategy's shards run does not matter here.
    void add_own(int op);

    void price(int op);

    std::int64_t bytes_of_all(int op, const configuration& c) const;

    const std::vector<cost_t>& table(int from, int to, int slot);

    const graph_view& g_;
    const machine& on_;
    const strategy& own_;
    resident_bytes held_;
    std::vector<int> kinds_; ///< the first operator that is alike
    std::vector<kind> nodes_;
    std::map<edge_kind, std::vector<cost_t>> tables_;
    bool offers_own_ = true;
};

} // namespace detail

/// Device graphs with more devices get no bound: their routes alone would take seconds.
inline constexpr int most_bounded_devices = 512;

/// Bounds of strategies of one network on one machine, whose devices are all alike and equally near. The network must
/// outlive it. A bound is over all strategies whose operators are split as the options say or as in the strategy
/// itself, on any devices, no two shards of an operator on one; where the strategy fits the devices' memory as
/// resident_bytes counts it, over those that do. What is worked out for strategies that are split as the options say is
/// kept for the next.
class strategy_bounds {
public:
    strategy_bounds(const graph_view& g, const machine& on, const bound_options& o = {}) : g_(g), on_(on), o_(o) {}
    /// On the uniform_machine() of a device graph: every device like the slowest, every two linked like the two that
    /// are furthest apart.
    strategy_bounds(const graph_view& g, const cluster& on, const bound_options& o = {});

    /// Throws tessera::error for a strategy that breaks a rule.
    strategy_bound of(const strategy& s);

private:
    const graph_view& g_;
    machine on_;
    bound_options o_;
    std::string none_{}; ///< why nothing has a bound, or empty
    cost_t known_[2] = {-1,
                        -1}; ///< bounds over what the options say, of all strategies and of those that fit; -1: not yet
};

/// The bound of one strategy.
strategy_bound bound_of(const graph_view& g, const machine& on, const strategy& s, const bound_options& o = {});

/// The same on the uniform_machine() of a device graph.
strategy_bound bound_of(const graph_view& g, const cluster& on, const strategy& s, const bound_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/bound.inl"
#endif

#include "tessera/base/end_header.inl"
