// SPDX-License-Identifier: Apache-2.0
// OptCNN's search in a constant expression: a strategy as a type, found by the compiler for a network, a batch and a
// machine that are types and constants.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/optcnn.hpp"
#include "tessera/search/optcnn/static_eliminate.hpp"

namespace tessera::search {

namespace detail {

/// An edge of the graph: input `slot` of operator `to` is the output of `from`.
struct graph_edge {
    int from = 0;
    int to = 0;
    int slot = 0;
};

/// The structure of a network: its edges, and for each operator the first one that is like it.
template <int Ops, int Edges>
struct graph_structure {
    int kinds[to_size(Ops + 1)]{};
    graph_edge edges[to_size(Edges + 1)]{};
    int edge_count = 0;
};

template <class Net, index_t Batch>
constexpr int count_inputs() {
    const graph_view g = describe<Net, Batch>();
    int n = 0;
    for (int op = 0; op < g.op_count; ++op) {
        n += g.ops[op].inputs.count;
    }
    return n;
}

template <class Net, index_t Batch>
constexpr auto find_structure() {
    const graph_view g = describe<Net, Batch>();
    graph_structure<describe<Net, Batch>().op_count, count_inputs<Net, Batch>()> s;
    for (int op = 0; op < g.op_count; ++op) {
        s.kinds[op] = first_alike(g, op);
        for (int slot = 0; slot < g.ops[op].inputs.count; ++slot) {
            const int producer = g.tensors[g.ops[op].inputs.items[slot]].producer;
            if (producer >= 0) {
                s.edges[s.edge_count++] = {producer, op, slot};
            }
        }
    }
    return s;
}

template <class Net, index_t Batch>
inline constexpr auto structure_of = find_structure<Net, Batch>();

/// The configurations of one operator, what each costs by itself, and how each cuts the output.
template <int Configurations, int Devices>
struct priced_operator {
    // Degrees that are powers of two make fewer than 2 * Devices pieces of a dimension that one loop indexes, the
    // baselines' at most 2 * Devices more, and dimensions that two loops index (groups) the rest.
    static constexpr int pieces = 8 * Devices + 32;
    using tiles = cost::tiling<Configurations, pieces, Devices>;

    configuration configurations[to_size(Configurations)]{};
    cost_t unary[to_size(Configurations)]{};
    tiles output;
};

template <class Net, index_t Batch, class Preset, int Op>
constexpr int count_offered() {
    const graph_view g = describe<Net, Batch>();
    int n = 0;
    for_each_offered(g, Op, g.describe(Op), Preset::value.devices, {}, [&n](const configuration&) { ++n; });
    return n;
}

template <class Net, index_t Batch, class Preset, int Op>
inline constexpr int offered_count = count_offered<Net, Batch, Preset, Op>();

template <class Net, index_t Batch, class Preset, int Op>
constexpr auto price_operator() {
    constexpr machine on = Preset::value;
    const graph_view g = describe<Net, Batch>();
    priced_operator<offered_count<Net, Batch, Preset, Op>, on.devices> p;
    const cost::op_model m = cost::model_of(g, Op);
    const int output = m.d.output();
    int n = 0;
    for_each_offered(g, Op, m.d, on.devices, {}, [&](const configuration& c) {
        p.configurations[n] = c;
        p.unary[n] = cost::compute_time(m, c, nullptr, on) + cost::synchronization_time(m, c, nullptr, on);
        p.output.add(m.d, output, c);
        ++n;
    });
    return p;
}

template <class Net, index_t Batch, class Preset, int Op>
inline constexpr auto priced = price_operator<Net, Batch, Preset, Op>();

template <class Net, index_t Batch, class Preset, int From, int To, int Slot>
constexpr auto price_edge() {
    constexpr machine on = Preset::value;
    constexpr auto& from = priced<Net, Batch, Preset, From>;
    constexpr auto& to = priced<Net, Batch, Preset, To>;
    constexpr int columns = offered_count<Net, Batch, Preset, To>;
    static_costs<offered_count<Net, Batch, Preset, From> * columns> times;
    const description d = describe<Net, Batch>().describe(To);
    const int input = d.find_operand(operand_kind::input, Slot);
    typename std::remove_cvref_t<decltype(to)>::tiles needed;
    for (int c = 0; c < columns; ++c) {
        needed.add(d, input, to.configurations[c]);
    }
    constexpr int pieces = from.pieces;
    index_t scratch[to_size(max_rank * pieces * (2 * pieces) + 2 * on.devices + 2)];
    cost::edge_times(from.output, needed, bytes_of(d.operands[input].type), d.operands[input].differentiable, on,
                     scratch, times.cost);
    return times;
}

template <class Net, index_t Batch, class Preset, int From, int To, int Slot>
inline constexpr auto priced_edge = price_edge<Net, Batch, Preset, From, To, Slot>();

/// The problem in the form that static_solution takes.
template <class Net, index_t Batch, class Preset, class Nodes, class Edges>
struct static_optcnn_problem;

template <class Net, index_t Batch, class Preset, int... Nodes, int... Edges>
struct static_optcnn_problem<Net, Batch, Preset, int_list<Nodes...>, int_list<Edges...>> {
    static constexpr const auto& structure = structure_of<Net, Batch>;
    static constexpr int nodes = sizeof...(Nodes);
    static constexpr int edges = sizeof...(Edges);
    static constexpr int edge_steps = 10;

    static constexpr int counts[to_size(nodes)] = {offered_count<Net, Batch, Preset, structure.kinds[Nodes]>...};
    static constexpr int configurations(int node) { return counts[node]; }
    static constexpr edge_ends edge(int e) { return {structure.edges[e].from, structure.edges[e].to}; }

    /// Work to make the tables: shards compared over all edges, an upper bound.
    static constexpr std::int64_t work() {
        std::int64_t n = 0;
        for (int e = 0; e < edges; ++e) {
            n += std::int64_t{Preset::value.devices} * counts[edge(e).from] * counts[edge(e).to];
        }
        return n;
    }

    // Instantiated when first used, which is after the budget is checked.
    static constexpr const cost_t* unaries[to_size(nodes)] = {
        priced<Net, Batch, Preset, structure.kinds[Nodes]>.unary...};
    static constexpr const cost_t* tables[to_size(edges + 1)] = {
        priced_edge<Net, Batch, Preset, structure.kinds[structure.edges[Edges].from],
                    structure.kinds[structure.edges[Edges].to], structure.edges[Edges].slot>.cost...,
        nullptr};
    static constexpr cost_t unary(int node, int c) { return unaries[node][c]; }
    static constexpr cost_t edge_cost(int e, int from, int to) {
        return tables[e][from * counts[structure.edges[e].to] + to];
    }

    /// Configuration `choice[node]` of every node.
    template <class Choices, class Storage>
    static constexpr void read_back(const Choices& choice, Storage& s) {
        ((s.ops[Nodes] = priced<Net, Batch, Preset, structure.kinds[Nodes]>.configurations[choice[Nodes]]), ...);
        s.count = nodes;
    }
};

} // namespace detail

/// The strategy that optcnn() finds, found by the compiler; a type like strategy_of. Preset is a type with the machine
/// as its static member `value`. Budget bounds the work on the tables and that of the eliminations; beyond it the
/// compile error is a constant_expression_budget.
template <class Net, index_t Batch, class Preset, std::int64_t Budget = default_static_budget>
struct static_optcnn {
    using network = Net;
    static constexpr int devices = Preset::value.devices;
    static constexpr index_t batch = Batch;

private:
    static constexpr auto find() {
        tessera::detail::strategy_storage<tessera::detail::counts_of<Net, Batch>.ops, 0> s;
        if constexpr (!check_network<Net, Batch>::ok) {
            s.refused.broken = rule::network_has_no_loss;
        } else if constexpr (devices < 1) {
            refuse<rule::machine_has_no_devices, tessera::found<devices>, tessera::needed<1>>();
            s.refused.broken = rule::machine_has_no_devices;
        } else {
            constexpr const auto& structure = detail::structure_of<Net, Batch>;
            using problem =
                detail::static_optcnn_problem<Net, Batch, Preset, detail::count_to<describe<Net, Batch>().op_count>,
                                              detail::count_to<structure.edge_count>>;
            if constexpr (detail::is_within_budget<problem::work(), Budget>()) {
                constexpr const auto& solution = static_solution<problem, Budget>;
                if constexpr (solution.state == status::solved) {
                    problem::read_back(solution.choices, s);
                }
            }
        }
        return s;
    }

public:
    static constexpr auto stored = find();
    static constexpr bool ok = stored.count > 0;
    static constexpr strategy_view view() { return stored.view(); }
};

/// optcnn<net, 64>(machines::p100<2>{}): the same, from a value whose type is the preset.
template <class Net, index_t Batch, class Preset>
constexpr static_optcnn<Net, Batch, Preset> optcnn(const Preset&) {
    return {};
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
