// SPDX-License-Identifier: Apache-2.0
// OptCNN (Jia, Lin, Qi, Aiken, ICML 2018): the cheapest strategy under the additive cost model, by node and edge
// elimination; where these leave too much, by variable elimination, and where that is too wide, with one choice for all
// operators of a kind.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/edge_tables.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/configurations.hpp"
#include "tessera/search/groups.hpp"
#include "tessera/search/optcnn/eliminate.hpp"
#include "tessera/search/optcnn/grouped_problem.hpp"
#include "tessera/search/optcnn/variable_elimination.hpp"
#include "tessera/search/thread_pool.hpp"

#include <utility>

namespace tessera::search {

struct optcnn_options {
    configuration_options offered;
    elimination_options elimination;
    /// Eliminations may leave nodes of so many choices in all, and need so many relaxations; beyond that variable
    /// elimination takes over.
    std::int64_t most_left = 10'000'000;
    variable_elimination_options exact{20'000'000, 2'000'000'000}; ///< beyond which operators of a kind are grouped
    thread_pool threads{};                                         ///< that the costs are worked out on
};

/// How a strategy was found.
enum class optcnn_method : std::uint8_t {
    eliminations,         ///< OptCNN's, and the enumeration of what they leave
    variable_elimination, ///< exactly as well
    grouped, ///< one choice for all operators of a kind, then changes of one operator at a time: a local optimum
};

constexpr const char* to_text(optcnn_method m) {
    constexpr const char* names[] = {"eliminations", "variable elimination", "operators of a kind grouped"};
    return names[static_cast<int>(m)];
}

namespace detail {

/// True if for_each_configuration with the options comes to this configuration of at most one split loop.
constexpr bool is_offered(const description& d, const configuration& c, const configuration_options& options) {
    for (int l = 0; l < d.loops.count; ++l) {
        const int n = c.degree[l];
        const loop_role r = n > 1 ? role(d, l) : loop_role::sample;
        if ((options.powers_of > 1 && !is_power_of(n, options.powers_of)) ||
            (!options.uneven && d.loops.items[l].extent % n != 0) ||
            (r == loop_role::coupled && !options.with_coupled)) {
            return false;
        }
    }
    return true;
}

/// The configurations that the options name, and those of the baselines where they are not among them (uneven shards,
/// degrees that are no powers of two), so that what is found costs no more than any baseline.
template <class Sink>
constexpr void for_each_offered(const graph_view& g, int op, const description& d, int devices,
                                const configuration_options& options, Sink&& sink) {
    for_each_configuration(d, devices, options, sink);
    for (const baseline b : {baseline::data_parallel, baseline::model_parallel}) { // one weird trick takes from both
        const configuration c = baseline_configuration(g, op, devices, b);
        if (!is_offered(d, c, options)) {
            sink(c);
        }
    }
}

/// True if two operators offer the same configurations at the same costs, also on their edges.
constexpr bool alike(const graph_view& g, int a, int b) {
    const op_node& x = g.ops[a];
    const op_node& y = g.ops[b];
    if (!(x.attributes == y.attributes) || x.inputs.count != y.inputs.count) {
        return false;
    }
    for (int k = 0; k < x.inputs.count; ++k) {
        const tensor_node& s = g.tensors[x.inputs.items[k]];
        const tensor_node& t = g.tensors[y.inputs.items[k]];
        if (!(s.extents == t.extents) || (s.producer < 0) != (t.producer < 0)) {
            return false;
        }
    }
    return true;
}

/// The first operator that is like `op`. Deep networks have many that are alike, and each kind is priced once.
constexpr int first_alike(const graph_view& g, int op) {
    int i = 0;
    while (!alike(g, i, op)) {
        ++i;
    }
    return i;
}

/// For every operator the first one that is like it.
std::vector<int> kinds_of(const graph_view& g);

/// Calls visit(producer, op, slot) for every input of an operator that another operator makes.
template <class Visit>
constexpr void for_each_edge(const graph_view& g, const Visit& visit) {
    for (int op = 0; op < g.op_count; ++op) {
        for (int slot = 0; slot < g.ops[op].inputs.size(); ++slot) {
            const int producer = g.tensors[g.ops[op].inputs[slot]].producer;
            if (producer >= 0) {
                visit(producer, op, slot);
            }
        }
    }
}

} // namespace detail

namespace detail {

/// Adds the edges of a network to a problem. Edges of one kind, between operators of the same kinds, have one table,
/// times(from, to, slot), worked out once; tables of different kinds at the same time.
template <class Times>
void add_edges(additive_problem& costs, const graph_view& g, const std::vector<int>& kinds, const thread_pool& threads,
               const Times& times) {
    struct edge_kind {
        int from, to, slot;
        int first = -1; ///< edge of this kind
        std::vector<cost_t> table{};
    };
    std::vector<edge_kind> all;
    std::vector<std::size_t> number; // of every edge
    for_each_edge(g, [&](int producer, int op, int slot) {
        const edge_kind x{kinds[to_size(producer)], kinds[to_size(op)], slot};
        std::size_t i = all.size(); // most often of a kind that was met last
        while (i > 0 && (all[i - 1].from != x.from || all[i - 1].to != x.to || all[i - 1].slot != x.slot)) {
            --i;
        }
        number.push_back(i > 0 ? i - 1 : all.size());
        if (i <= 0) {
            all.push_back(x);
        }
    });
    threads.run(all.size(), [&](std::size_t i) { all[i].table = times(all[i].from, all[i].to, all[i].slot); });
    std::size_t next = 0;
    for_each_edge(g, [&](int producer, int op, int) {
        edge_kind& x = all[number[next++]];
        if (x.first >= 0) {
            costs.add_edge_like(producer, op, x.first);
        } else {
            x.first = costs.add_edge(producer, op, std::move(x.table));
        }
    });
}

} // namespace detail

/// A network on a machine as the problem that eliminations solve, and what its choices mean.
struct optcnn_problem {
    additive_problem costs; ///< one node for each operator, one edge for each tensor it reads
    std::vector<std::vector<configuration>> configurations; ///< of each operator
    std::vector<index_t> pool;                              ///< cut points of configurations that have some

    template <class Choice>
    strategy strategy_of(const Choice& choice) const {
        strategy s;
        s.pool = pool;
        for (std::size_t op = 0; op < configurations.size(); ++op) {
            s.ops.push_back(configurations[op][choice[op]]);
        }
        return s;
    }
};

namespace detail {

/// Builds an optcnn_problem. A template, as are the functions below, so that only programs that search at run time pay
/// for compiling it.
template <class Problem>
class optcnn_builder {
public:
    optcnn_builder(const graph_view& g, const machine& on, const configuration_options& options,
                   const thread_pool& threads)
        : g_{g}, on_{on}, options_{options}, threads_{threads}, kinds_{kinds_of(g)}, nodes_(kinds_.size()) {}

    Problem run() {
        Problem problem;
        threads_.run(nodes_.size(), [this](std::size_t op) {
            const int number = static_cast<int>(op);
            if (kinds_[op] == number) {
                price(number);
            }
        });
        for (int op = 0; op < g_.op_count; ++op) {
            const int twin = kinds_[to_size(op)];
            problem.configurations.push_back(nodes_[to_size(twin)].configurations);
            twin == op ? problem.costs.add_node(nodes_[to_size(twin)].unary) : problem.costs.add_node_like(twin);
        }
        add_edges(problem.costs, g_, kinds_, threads_, [this](int from, int to, int slot) {
            const node& v = nodes_[to_size(to)];
            const operand& input = v.model.d.operands[v.model.d.find_operand(operand_kind::input, slot)];
            return cost::edge_table(nodes_[to_size(from)].output, v.inputs[to_size(slot)], bytes_of(input.type),
                                    input.differentiable, on_);
        });
        return problem;
    }

private:
    using tiles = cost::tiling<0, 0, 0>;
    struct node {
        cost::op_model model;
        std::vector<configuration> configurations;
        std::vector<cost_t> unary;
        tiles output;
        std::vector<tiles> inputs;
    };

    void price(int op) {
        node& n = nodes_[to_size(op)];
        n.model = cost::model_of(g_, op);
        const description& d = n.model.d;
        n.inputs.resize(to_size(g_.ops[op].inputs.size()));
        for_each_offered(g_, op, d, on_.devices, options_, [&](const configuration& c) {
            n.configurations.push_back(c);
            n.unary.push_back(cost::compute_time(n.model, c, nullptr, on_) +
                              cost::synchronization_time(n.model, c, nullptr, on_));
            n.output.add(d, d.output(), c);
            for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
                n.inputs[to_size(slot)].add(d, d.find_operand(operand_kind::input, slot), c);
            }
        });
    }

    const graph_view& g_;
    const machine& on_;
    configuration_options options_;
    const thread_pool& threads_;
    std::vector<int> kinds_; ///< the first operator that is alike
    std::vector<node> nodes_;
};

} // namespace detail

/// The cost tables of a network on a machine. Throws tessera::error for a machine without devices.
template <class Problem = optcnn_problem>
Problem make_optcnn_problem(const graph_view& g, const machine& on, const configuration_options& options = {},
                            const thread_pool& threads = {}) {
    if (on.devices < 1) {
        require(tessera::detail::broken(rule::machine_has_no_devices, -1, -1, on.devices, 1));
    }
    return detail::optcnn_builder<Problem>(g, on, options, threads).run();
}

/// What OptCNN's search found: a strategy, its cost in nanoseconds per step, and what the search did.
struct optcnn_result {
    strategy best;
    cost_t cost = 0;
    elimination_statistics statistics; ///< of OptCNN's eliminations; where others took over, as they would have been
    optcnn_method by = optcnn_method::eliminations;
    int width =
        0; ///< of variable elimination; of the problem of groups where operators were grouped; not counted for OptCNN's
           ///< eliminations
    bool exact = true; ///< the cheapest of all
};

namespace detail {

/// Groups of operators that choose alike: of one kind, with the same configurations.
template <class Problem>
std::vector<int> alike_groups(const graph_view& g, const Problem& problem, std::vector<int>& first) {
    const operator_groups groups = group_operators(g);
    std::vector<int> group_of;
    for (int op = 0; op < g.op_count; ++op) {
        int group = -1;
        for (std::size_t i = 0; i < first.size() && group < 0; ++i) {
            const bool same = groups.kind_of[to_size(first[i])] == groups.kind_of[to_size(op)] &&
                              problem.configurations[to_size(first[i])] == problem.configurations[to_size(op)];
            group = same ? static_cast<int>(i) : -1;
        }
        if (group < 0) {
            group = static_cast<int>(first.size());
            first.push_back(op);
        }
        group_of.push_back(group);
    }
    return group_of;
}

/// The best local optimum from what the problem of groups says, if that can be solved, and from every baseline.
template <class Problem>
solution solve_grouped(const graph_view& g, const Problem& problem, int devices, const optcnn_options& options,
                       int& width) {
    std::vector<int> first;
    const std::vector<int> group_of = alike_groups(g, problem, first);
    const additive_problem small = grouped(problem.costs, group_of, static_cast<int>(first.size()));
    const variable_elimination_solution together = eliminate_variables(small, options.exact);
    width = together.order.width;
    std::vector<std::vector<choice_t>> starts;
    if (together.state == status::solved) {
        starts.emplace_back();
        for (const int group : group_of) {
            starts.back().push_back(together.choice[to_size(group)]);
        }
    }
    for (const baseline b :
         {baseline::data_parallel, baseline::model_parallel, baseline::one_weird_trick, baseline::single_device}) {
        starts.emplace_back();
        for (int op = 0; op < g.op_count; ++op) {
            const std::vector<configuration>& offered = problem.configurations[to_size(op)];
            const configuration wanted = baseline_configuration(g, op, devices, b);
            std::size_t place = 0;
            while (place < offered.size() && !(offered[place] == wanted)) {
                ++place;
            }
            starts.back().push_back(static_cast<choice_t>(place < offered.size() ? place : 0));
        }
    }
    solution best{status::infeasible, forbidden, {}};
    for (std::vector<choice_t>& start : starts) {
        solution found = descend(problem.costs, std::move(start));
        if (found.cost < best.cost || best.choice.empty()) {
            best = std::move(found);
        }
    }
    return best;
}

} // namespace detail

/// The cheapest strategy of a problem of a network on so many devices: by OptCNN's eliminations where they leave
/// little, else at once by variable elimination, else with operators of a kind grouped. Never costs more than data
/// parallel, model parallel, one weird trick or one device.
template <class Problem>
optcnn_result solve_optcnn(const graph_view& g, const Problem& problem, int devices,
                           const optcnn_options& options = {}) {
    optcnn_result r;
    r.statistics = plan_eliminations(problem.costs, options.elimination);
    const std::int64_t most = options.elimination.budget;
    std::vector<choice_t> choice;
    if (r.statistics.relaxations <= most && r.statistics.visited <= options.most_left && r.statistics.visited <= most) {
        elimination_solution found = eliminate(problem.costs, options.elimination);
        if (found.state == status::solved) {
            r.statistics = found.statistics;
            r.cost = found.cost;
            choice = std::move(found.choice);
        }
    }
    if (choice.empty()) {
        variable_elimination_options limits = options.exact;
        limits.budget = std::min(most, limits.budget);
        variable_elimination_solution found = eliminate_variables(problem.costs, limits);
        r.by = optcnn_method::variable_elimination;
        r.width = found.order.width;
        r.cost = found.cost;
        choice = std::move(found.choice);
    }
    if (choice.empty()) {
        solution found = detail::solve_grouped(g, problem, devices, options, r.width);
        r.by = optcnn_method::grouped;
        r.exact = false;
        r.cost = found.cost;
        choice = std::move(found.choice);
    }
    r.best = problem.strategy_of(choice);
    return r;
}

/// The cheapest strategy under the additive model among the configurations offered; never costs more than data
/// parallel, model parallel, one weird trick or one device. Where OptCNN's eliminations, or all of what is exact, would
/// need more than the budget, what takes over says so in the result. Throws tessera::error for a machine without
/// devices.
template <class Problem = optcnn_problem>
optcnn_result optcnn_search(const graph_view& g, const machine& on, const optcnn_options& options = {}) {
    return solve_optcnn(g, make_optcnn_problem<Problem>(g, on, options.offered, options.threads), on.devices, options);
}

template <class Problem = optcnn_problem>
strategy optcnn(const graph_view& g, const machine& on, const optcnn_options& options = {}) {
    return optcnn_search<Problem>(g, on, options).best;
}

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/optcnn/optcnn.inl"
#endif

#include "tessera/base/end_header.inl"
