// SPDX-License-Identifier: Apache-2.0
// OptCNN (Jia, Lin, Qi, Aiken, ICML 2018): the cheapest strategy under the additive cost model, by node and edge elimination.
#pragma once

#include "tessera/cost/tiling.hpp"
#include "tessera/search/baselines.hpp"
#include "tessera/search/configurations.hpp"
#include "tessera/search/eliminate.hpp"

namespace tessera::search {

struct optcnn_options {
    configuration_options offered;
    elimination_options elimination;
};

namespace detail {

/// True if for_each_configuration with the options comes to this configuration of at most one split loop.
constexpr bool is_offered(const description& d, const configuration& c, const configuration_options& options) {
    for (int l = 0; l < d.loops.count; ++l) {
        const int n = c.degree[l];
        const loop_role r = n > 1 ? role(d, l) : loop_role::sample;
        if ((options.powers_of_two && (n & (n - 1)) != 0) || (!options.uneven && d.loops.items[l].extent % n != 0) ||
            (r == loop_role::coupled && !options.with_coupled)) {
            return false;
        }
    }
    return true;
}

/// The configurations that the options name, and those of the baselines where they are not among them (uneven shards, degrees that are
/// no powers of two), so that what is found costs no more than any baseline.
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

} // namespace detail

/// A network on a machine as the problem that eliminations solve, and what its choices mean.
struct optcnn_problem {
    additive_problem costs; ///< one node for each operator, one edge for each tensor it reads
    std::vector<std::vector<configuration>> configurations; ///< of each operator

    template <class Choice>
    strategy strategy_of(const Choice& choice) const {
        strategy s;
        for (std::size_t op = 0; op < configurations.size(); ++op) {
            s.ops.push_back(configurations[op][choice[op]]);
        }
        return s;
    }
};

namespace detail {

/// Builds an optcnn_problem. A template, as are the functions below, so that only programs that search at run time pay for
/// compiling it.
template <class Problem>
class optcnn_builder {
public:
    optcnn_builder(const graph_view& g, const machine& on, const configuration_options& options)
        : g_{g}, on_{on}, options_{options} {}

    Problem run() {
        Problem problem;
        for (int op = 0; op < g_.op_count; ++op) {
            const int twin = first_alike(g_, op);
            kinds_.push_back(twin);
            if (twin == op) {
                price(op);
            } else {
                nodes_.emplace_back();
            }
            problem.configurations.push_back(nodes_[at(twin)].configurations);
            problem.costs.add_node(nodes_[at(twin)].unary);
        }
        for (int op = 0; op < g_.op_count; ++op) {
            for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
                const int producer = g_.tensors[g_.ops[op].inputs[slot]].producer;
                if (producer >= 0) {
                    problem.costs.add_edge(producer, op, table(kinds_[at(producer)], kinds_[at(op)], slot));
                }
            }
        }
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
    struct priced_edge {
        int from, to, slot;
        std::vector<cost_t> times;
    };

    void price(int op) {
        node n;
        n.model = cost::model_of(g_, op);
        const description& d = n.model.d;
        n.inputs.resize(at(g_.ops[op].inputs.size()));
        for_each_offered(g_, op, d, on_.devices, options_, [&](const configuration& c) {
            n.configurations.push_back(c);
            n.unary.push_back(cost::compute_time(n.model, c, nullptr, on_) +
                              cost::synchronization_time(n.model, c, nullptr, on_));
            n.output.add(d, d.output(), c);
            for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
                n.inputs[at(slot)].add(d, d.find_operand(operand_kind::input, slot), c);
            }
        });
        nodes_.push_back(std::move(n));
    }

    const std::vector<cost_t>& table(int from, int to, int slot) {
        for (const priced_edge& e : edges_) {
            if (e.from == from && e.to == to && e.slot == slot) {
                return e.times;
            }
        }
        const node& u = nodes_[at(from)];
        const node& v = nodes_[at(to)];
        const operand& input = v.model.d.operands[v.model.d.find_operand(operand_kind::input, slot)];
        priced_edge e{from, to, slot, std::vector<cost_t>(u.unary.size() * v.unary.size())};
        scratch_.resize(at(cost::edge_scratch(u.output, v.inputs[at(slot)])));
        cost::edge_times(u.output, v.inputs[at(slot)], bytes_of(input.type), input.differentiable, on_, scratch_.data(),
                         e.times.data());
        edges_.push_back(std::move(e));
        return edges_.back().times;
    }

    const graph_view& g_;
    const machine& on_;
    configuration_options options_;
    std::vector<int> kinds_; ///< the first operator that is alike
    std::vector<node> nodes_;
    std::vector<priced_edge> edges_;
    std::vector<index_t> scratch_;
};

} // namespace detail

/// The cost tables of a network on a machine. Throws tessera::error for a machine without devices.
template <class Problem = optcnn_problem>
Problem make_optcnn_problem(const graph_view& g, const machine& on, const configuration_options& options = {}) {
    if (on.devices < 1) {
        throw error(to_text(tessera::detail::broken(rule::machine_has_no_devices, -1, -1, on.devices, 1), {}));
    }
    return detail::optcnn_builder<Problem>(g, on, options).run();
}

/// What OptCNN's search found: a strategy, its cost in nanoseconds per step, and what the search did.
struct optcnn_result {
    strategy best;
    cost_t cost = 0;
    elimination_statistics statistics;
};

/// The cheapest strategy under the additive model among the configurations offered; never costs more than data parallel, model
/// parallel, one weird trick or one device. Throws tessera::error for a machine without devices, and when the budget is spent.
template <class Problem = optcnn_problem>
optcnn_result optcnn_search(const graph_view& g, const machine& on, const optcnn_options& options = {}) {
    const Problem problem = make_optcnn_problem<Problem>(g, on, options.offered);
    const elimination_solution found = eliminate(problem.costs, options.elimination);
    if (found.state != status::solved) {
        throw error("tessera: the search needs more work than its budget of " +
                    std::to_string(options.elimination.budget) +
                    " relaxations; raise the budget or offer fewer configurations");
    }
    return {problem.strategy_of(found.choice), found.cost, found.statistics};
}

template <class Problem = optcnn_problem>
strategy optcnn(const graph_view& g, const machine& on, const optcnn_options& options = {}) {
    return optcnn_search<Problem>(g, on, options).best;
}

} // namespace tessera::search
