// SPDX-License-Identifier: Apache-2.0
// The search of eliminate.hpp in a constant expression, without compiler flags. Compilers bound the work of one
// constant evaluation, and each constexpr variable has a budget of its own: so every table, every elimination and every
// slice of the enumeration is a variable.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/static_tables.hpp"

#include <array>

namespace tessera::search {

/// A solution found by the compiler. `choices` are zeros unless `state` is solved.
template <int Nodes>
struct static_result {
    status state = status::solved;
    cost_t cost = 0;
    std::array<choice_t, to_size(Nodes)> choices{};
    elimination_statistics statistics;
};

/// The compile errors of a static problem that is not well formed.
template <class Problem, int Edge, int From, int To, int Nodes>
struct static_edge_check {
    static_assert(From >= 0 && From < Nodes && To >= 0 && To < Nodes,
                  "tessera: an edge joins a node that does not exist; edges name nodes from 0 to nodes - 1");
    static_assert(From != To, "tessera: an edge joins a node to itself; add its cost to the node");
};
template <class Problem, int Node, int Configurations>
struct static_node_check {
    static_assert(Configurations >= 1 && Configurations <= max_configurations,
                  "tessera: a node needs at least 1 and at most 65535 configurations");
};
template <class Problem, int FirstEdge, int FirstNode>
struct static_cost_check {
    static_assert(FirstEdge < 0 && FirstNode < 0, "tessera: a cost is negative; costs are nanoseconds, at least 0");
};

namespace detail {

// ---- the enumeration of what is left

/// Numbers of the nodes that are left and of the edges between them.
template <class P, bool LeafRule>
struct remainder {
    int node_count = 0;
    int edge_count = 0;
    int node[to_size(P::nodes + 1)]{};
    int level[to_size(P::nodes + 1)]{};
    int edge[to_size(P::edges + 1)]{}; ///< tables

    constexpr remainder() {
        const auto& order = static_order<P, LeafRule>;
        for (int v = 0; v < P::nodes; ++v) {
            if (order.unary[v] >= 0) {
                level[v] = node_count;
                node[node_count++] = v;
            }
        }
        // By the level at which both ends are chosen.
        for (int d = 0; d < node_count; ++d) {
            for (int e = order.first_out[node[d]]; e >= 0; e = order.next_out[e]) {
                edge[edge_count] = level[order.to[e]] < d ? e : -1;
                edge_count += level[order.to[e]] < d;
            }
            for (int e = order.first_in[node[d]]; e >= 0; e = order.next_in[e]) {
                edge[edge_count] = level[order.from[e]] < d ? e : -1;
                edge_count += level[order.from[e]] < d;
            }
        }
    }
};

template <class P, bool LeafRule>
inline constexpr remainder<P, LeafRule> static_remainder{};

template <class P, bool LeafRule, int Id>
inline constexpr cost_t least_cost = least_of(edge_costs<P, LeafRule, Id>().cost,
                                              static_cast<int>(edge_costs<P, LeafRule, Id>().count));

template <class P, bool LeafRule>
struct static_levels {
    level levels[to_size(P::nodes + 1)]{};
    back_edge edges[to_size(P::edges + 1)]{};
};

template <class P, bool LeafRule, int... Levels, int... Edges>
constexpr auto make_static_levels(int_list<Levels...>, int_list<Edges...>) {
    static_levels<P, LeafRule> out;
    constexpr const auto& order = static_order<P, LeafRule>;
    constexpr const auto& left = static_remainder<P, LeafRule>;
    const cost_t* unary[] = {node_costs<P, LeafRule, order.unary[left.node[Levels]]>().cost..., nullptr};
    const cost_t* table[] = {edge_costs<P, LeafRule, left.edge[Edges]>().cost..., nullptr};
    const cost_t least[] = {least_cost<P, LeafRule, left.edge[Edges]>..., 0};
    for (int d = 0, e = 0; d < left.node_count; ++d) {
        const int own = P::configurations(left.node[d]);
        out.levels[d] = {unary[d], own, e, e, 0};
        for (; e < left.edge_count; ++e) {
            const int from = left.level[order.from[left.edge[e]]];
            const int to = left.level[order.to[left.edge[e]]];
            if (from != d && to != d) {
                break;
            }
            if (to == d && from < d) {
                out.edges[e] = {table[e], from, own, 1, least[e]};
            } else if (from == d && to < d) {
                out.edges[e] = {table[e], to, 1, P::configurations(left.node[to]), least[e]};
            } else {
                break;
            }
            out.levels[d].last_edge = e + 1;
        }
    }
    fill_bounds(out.levels, out.edges, left.node_count);
    return out;
}

template <class P, bool LeafRule>
inline constexpr auto
    levels_left = make_static_levels<P, LeafRule>(count_to<static_remainder<P, LeafRule>.node_count>{},
                                                  count_to<static_remainder<P, LeafRule>.edge_count>{});

template <class P>
using static_state =
    depth_first_state<std::array<choice_t, to_size(P::nodes + 1)>, std::array<cost_t, to_size(P::nodes + 1)>>;

/// Partial choices visited in one evaluation: one takes some 60 steps and 20 more per edge.
template <class P, bool LeafRule>
constexpr int visits_per_slice() {
    int most = 0;
    for (const level& each : levels_left<P, LeafRule>.levels) {
        most = each.last_edge - each.first_edge > most ? each.last_edge - each.first_edge : most;
    }
    return cells_per_block(60 + 20 * most, 400'000);
}

/// A bound on the nesting of instantiations.
inline constexpr int max_slices = 200;

template <class P, bool LeafRule, int Slice>
constexpr static_state<P> go_slice();
template <class P, bool LeafRule, int Slice>
inline constexpr static_state<P> slice = go_slice<P, LeafRule, Slice>();

template <class P, bool LeafRule, int Slice>
constexpr static_state<P> go_slice() {
    static_state<P> s;
    if constexpr (Slice > 0) {
        s = slice<P, LeafRule, Slice - 1>;
    }
    constexpr const auto& all = levels_left<P, LeafRule>;
    const std::int64_t limit = s.visited + visits_per_slice<P, LeafRule>();
    go_depth_first(all.levels, all.edges, static_remainder<P, LeafRule>.node_count, s, limit);
    return s;
}

/// The enumeration, slice by slice, until it is done or has visited `Limit` partial choices.
template <class P, bool LeafRule, std::int64_t Limit, int Slice = 0>
constexpr const static_state<P>& last_slice() {
    if constexpr (slice<P, LeafRule, Slice>.done || slice<P, LeafRule, Slice>.visited > Limit ||
                  Slice + 1 == max_slices) {
        return slice<P, LeafRule, Slice>;
    } else {
        return last_slice<P, LeafRule, Limit, Slice + 1>();
    }
}

// ---- the whole

template <class P>
constexpr bool is_well_formed() {
    constexpr int node = [] {
        int v = 0;
        while (v < P::nodes && P::configurations(v) >= 1 && P::configurations(v) <= max_configurations) {
            ++v;
        }
        return v;
    }();
    if constexpr (node < P::nodes) {
        return refuse<static_node_check<P, node, P::configurations(node)>>();
    } else {
        constexpr int edge = [] {
            for (int e = 0; e < P::edges; ++e) {
                const auto ends = P::edge(e);
                if (ends.from < 0 || ends.from >= P::nodes || ends.to < 0 || ends.to >= P::nodes ||
                    ends.from == ends.to) {
                    return e;
                }
            }
            return P::edges;
        }();
        if constexpr (edge < P::edges) {
            return refuse<static_edge_check<P, edge, P::edge(edge).from, P::edge(edge).to, P::nodes>>();
        } else {
            return true;
        }
    }
}

/// First edge with a negative cost, or -1.
template <class P, int... Edges>
constexpr int first_bad_edge(int_list<Edges...>) {
    const bool bad[] = {computed<given_edge<P, Edges>>.has_negative..., true};
    int e = 0;
    while (!bad[e]) {
        ++e;
    }
    return e < P::edges ? e : -1;
}
template <class P, int... Nodes>
constexpr int first_bad_node(int_list<Nodes...>) {
    const bool bad[] = {computed<given_node<P, Nodes>>.has_negative..., true};
    int v = 0;
    while (!bad[v]) {
        ++v;
    }
    return v < P::nodes ? v : -1;
}

template <class P>
constexpr bool has_sound_costs() {
    constexpr int edge = first_bad_edge<P>(count_to<P::edges>{});
    constexpr int node = first_bad_node<P>(count_to<P::nodes>{});
    if constexpr (edge >= 0 || node >= 0) {
        return refuse<static_cost_check<P, edge, node>>();
    } else {
        return true;
    }
}

template <class P, bool LeafRule>
constexpr elimination_statistics count_steps() {
    elimination_statistics count;
    const auto& order = static_order<P, LeafRule>;
    for (int s = 0; s < order.step_count; ++s) {
        count.node_eliminations += order.steps[s].kind == elimination::node;
        count.edge_eliminations += order.steps[s].kind == elimination::edge;
        count.leaf_eliminations += order.steps[s].kind == elimination::leaf;
        count.relaxations += relaxations_of(order.steps[s], [](int v) { return P::configurations(v); });
    }
    count.remaining = static_remainder<P, LeafRule>.node_count;
    return count;
}

template <class P, bool LeafRule, std::int64_t Budget>
constexpr auto finish(static_result<P::nodes> result) {
    // The argmins come first: they make the tables in order.
    [[maybe_unused]] constexpr const auto& argmin = argmins<P, LeafRule>;
    constexpr std::int64_t spent = count_steps<P, LeafRule>().relaxations;
    constexpr const static_state<P>& state = last_slice<P, LeafRule, Budget - spent>();
    constexpr std::int64_t needed = spent + state.visited + !state.done;
    constexpr std::int64_t allowed = !state.done && needed <= Budget ? needed - 1 : Budget;
    result.statistics.visited = state.visited;
    if constexpr (!is_within_budget<needed, allowed>()) {
        result.state = status::budget_exhausted;
    } else if constexpr (state.found_cost >= forbidden) {
        result.state = status::infeasible;
    } else {
        for (int d = 0; d < static_remainder<P, LeafRule>.node_count; ++d) {
            result.choices[to_size(static_remainder<P, LeafRule>.node[d])] = state.found[to_size(d)];
        }
        undo(
            static_order<P, LeafRule>.steps, static_order<P, LeafRule>.step_count,
            [](int s) { return argmins<P, LeafRule>[to_size(s)]; }, [](int v) { return P::configurations(v); },
            result.choices);
        result.state = status::solved;
        result.cost = state.found_cost;
    }
    return result;
}

template <class P, std::int64_t Budget, bool LeafRule>
constexpr auto solve() {
    static_result<P::nodes> result;
    result.state = status::infeasible;
    result.cost = forbidden;
    if constexpr (is_well_formed<P>()) {
        result.statistics = count_steps<P, LeafRule>();
        if constexpr (!is_within_budget<count_steps<P, LeafRule>().relaxations, Budget>()) {
            result.state = status::budget_exhausted;
        } else if constexpr (has_sound_costs<P>()) {
            return finish<P, LeafRule, Budget>(result);
        }
    }
    return result;
}

} // namespace detail

/// The cheapest choice for a problem that is a type, found by the compiler: the same choice as `eliminate` finds.
///
/// `Problem` has the static constexpr members
///   int nodes, edges;
///   int configurations(int node);
///   edge_ends edge(int e);
///   cost_t unary(int node, int c);
///   cost_t edge_cost(int e, int from_configuration, int to_configuration);
/// and may have `int edge_steps` (default 1000) and `int unary_steps` (default edge_steps): roughly the steps, as clang
/// counts them, that one evaluation of a cost takes. Costs are nanoseconds, at least 0; from `forbidden` on they are
/// forbidden.
///
/// `Budget` bounds the relaxations plus the partial choices that the enumeration visits; beyond it the error is a
/// constant_expression_budget. A budget below the work that the eliminations need is refused before any work is done.
/// When no choice is allowed, `state` is infeasible.
template <class Problem, std::int64_t Budget = default_static_budget, bool LeafRule = true>
inline constexpr auto static_solution = detail::solve<Problem, Budget, LeafRule>();

} // namespace tessera::search

#include "tessera/base/end_header.inl"
