// SPDX-License-Identifier: Apache-2.0
// The cost tables and eliminations of a search in a constant expression: every one a variable of its own, computed in
// several blocks where it is large, because compilers bound the work of one constant evaluation (clang 1'048'576 steps,
// g++ 33.5 M operations).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/elimination_order.hpp"

#include <array>
#include <utility>

namespace tessera::search::detail {

template <int... Is>
struct int_list {};
template <class Sequence>
struct as_int_list;
template <std::size_t... Is>
struct as_int_list<std::index_sequence<Is...>> {
    using type = int_list<static_cast<int>(Is)...>;
};
template <int Count>
using count_to = typename as_int_list<std::make_index_sequence<to_size(Count)>>::type;

/// Steps of one evaluation of the user's cost functions.
template <class P>
constexpr int edge_steps_of() {
    if constexpr (requires { P::edge_steps; }) {
        return P::edge_steps;
    } else {
        return 1000;
    }
}
template <class P>
constexpr int unary_steps_of() {
    if constexpr (requires { P::unary_steps; }) {
        return P::unary_steps;
    } else {
        return edge_steps_of<P>();
    }
}

template <int Count>
struct static_costs {
    static constexpr int count = Count;
    cost_t cost[to_size(Count)]{};
    bool has_negative = false;

    constexpr void set(int i, cost_t given) {
        cost[i] = given < forbidden ? given : forbidden;
        has_negative = has_negative || given < 0;
    }
};
template <int Count>
struct static_minima {
    static constexpr int count = Count;
    cost_t cost[to_size(Count)]{};
    choice_t argmin[to_size(Count)]{};
};

/// Cells that one evaluation can compute when one of them takes `steps` out of `allowed`.
constexpr int cells_per_block(int steps, int allowed) {
    return steps >= allowed ? 1 : allowed / (steps > 0 ? steps : 1);
}

// A source has `count` cells, computes `per_block` of them in one evaluation, and `fill<Begin, Size>()` computes some.
template <class Source, int Begin>
inline constexpr auto block = Source::template fill<
    Begin, (Begin + Source::per_block < Source::count ? Source::per_block : Source::count - Begin)>();

template <class All, class Part>
constexpr int append(All& all, const Part& part, int begin) {
    for (int i = 0; i < Part::count; ++i) {
        all.cost[begin + i] = part.cost[i];
        if constexpr (requires { all.argmin; }) {
            all.argmin[begin + i] = part.argmin[i];
        }
    }
    if constexpr (requires { all.has_negative; }) {
        all.has_negative = all.has_negative || part.has_negative;
    }
    return begin + Part::count;
}

template <class Source, int... Blocks>
constexpr auto join(int_list<Blocks...>) {
    typename Source::template cells<Source::count> all;
    [[maybe_unused]] const int ends[] = {
        append(all, block<Source, Blocks * Source::per_block>, Blocks * Source::per_block)...};
    return all;
}

template <class Source>
constexpr auto compute() {
    if constexpr (Source::count <= Source::per_block) {
        return Source::template fill<0, Source::count>();
    } else {
        return join<Source>(count_to<(Source::count + Source::per_block - 1) / Source::per_block>{});
    }
}

/// All cells of a source, computed once.
template <class Source>
inline constexpr auto computed = compute<Source>();

/// The given cost table of an edge.
template <class P, int Edge>
struct given_edge {
    template <int Size>
    using cells = static_costs<Size>;
    static constexpr int columns = P::configurations(P::edge(Edge).to);
    static constexpr int count = P::configurations(P::edge(Edge).from) * columns;
    static constexpr int per_block = cells_per_block(edge_steps_of<P>(), steps_per_evaluation);

    template <int Begin, int Size>
    static constexpr auto fill() {
        static_costs<Size> out;
        for (int i = 0; i < Size; ++i) {
            out.set(i, P::edge_cost(Edge, (Begin + i) / columns, (Begin + i) % columns));
        }
        return out;
    }
};

/// The given costs of a node.
template <class P, int Node>
struct given_node {
    template <int Size>
    using cells = static_costs<Size>;
    static constexpr int count = P::configurations(Node);
    static constexpr int per_block = cells_per_block(unary_steps_of<P>(), steps_per_evaluation);

    template <int Begin, int Size>
    static constexpr auto fill() {
        static_costs<Size> out;
        for (int i = 0; i < Size; ++i) {
            out.set(i, P::unary(Node, Begin + i));
        }
        return out;
    }
};

/// Storage of an order_finder in a constant expression.
template <int Nodes, int Edges>
struct static_order_storage {
    static constexpr int nodes = Nodes;
    static constexpr int edges = Edges;
    int step_count = 0;
    int from[to_size(2 * Edges + 1)]{}, to[to_size(2 * Edges + 1)]{}, next_out[to_size(2 * Edges + 1)]{},
        next_in[to_size(2 * Edges + 1)]{};
    int first_out[to_size(Nodes + 1)]{}, first_in[to_size(Nodes + 1)]{}, out_degree[to_size(Nodes + 1)]{},
        in_degree[to_size(Nodes + 1)]{};
    int unary[to_size(Nodes + 1)]{};
    int leaves[to_size(Nodes + 2 * Edges + 1)]{}, inner[to_size(Nodes + 2 * Edges + 1)]{};
    elimination_step steps[to_size(Edges + 1)]{};
};

template <class P, bool LeafRule>
constexpr auto find_static_order() {
    static_order_storage<P::nodes, P::edges> storage;
    for (int e = 0; e < P::edges; ++e) {
        storage.from[e] = P::edge(e).from;
        storage.to[e] = P::edge(e).to;
    }
    order_finder<static_order_storage<P::nodes, P::edges>>(storage, LeafRule).run();
    return storage;
}

template <class P, bool LeafRule>
inline constexpr auto static_order = find_static_order<P, LeafRule>();

template <class P, bool LeafRule, int Step>
struct step_result;

/// Table `Id` of an edge, or of a node, in the numbering of elimination_step.
template <class P, bool LeafRule, int Id>
constexpr const auto& edge_costs() {
    if constexpr (Id < P::edges) {
        return computed<given_edge<P, Id>>;
    } else {
        return computed<step_result<P, LeafRule, Id - P::edges>>;
    }
}
template <class P, bool LeafRule, int Id>
constexpr const auto& node_costs() {
    if constexpr (Id < P::nodes) {
        return computed<given_node<P, Id>>;
    } else {
        return computed<step_result<P, LeafRule, Id - P::nodes>>;
    }
}

/// What an elimination makes: costs and, for each, the configuration of the eliminated node that attains it.
template <class P, bool LeafRule, int Step>
struct step_result {
    template <int Size>
    using cells = static_minima<Size>;
    static constexpr elimination_step step = static_order<P, LeafRule>.steps[Step];
    static constexpr int columns = step.to >= 0 ? P::configurations(step.to) : 1;
    static constexpr int rows = P::configurations(step.from);
    static constexpr int middle = step.node >= 0 ? P::configurations(step.node) : 1;
    static constexpr int count = rows * columns;
    static constexpr int per_block = cells_per_block(middle, relaxations_per_evaluation);

    template <int Begin, int Size>
    static constexpr auto fill() {
        static_minima<Size> out;
        [[maybe_unused]] const auto& first = edge_costs<P, LeafRule, step.first>();
        if constexpr (step.kind == elimination::edge) {
            const auto& second = edge_costs<P, LeafRule, step.second>();
            for (int i = 0; i < Size; ++i) {
                out.cost[i] = add_costs(first.cost[Begin + i], second.cost[Begin + i]);
            }
        } else if constexpr (step.kind == elimination::leaf) {
            const auto& own = node_costs<P, LeafRule, step.unary>();
            const auto& neighbour = node_costs<P, LeafRule, step.neighbour_unary>();
            constexpr int stride = step.leaf_is_source ? rows : 1;
            for (int i = 0; i < Size; ++i) {
                const int start = step.leaf_is_source ? Begin + i : (Begin + i) * middle;
                cost_t best = forbidden;
                for (int j = 0; j < middle; ++j) {
                    const cost_t candidate = own.cost[j] + first.cost[start + j * stride];
                    if (candidate < best) {
                        best = candidate;
                        out.argmin[i] = static_cast<choice_t>(j);
                    }
                }
                out.cost[i] = add_costs(best, neighbour.cost[Begin + i]);
            }
        } else {
            min_plus(out, Begin);
        }
        return out;
    }

private:
    /// The innermost loop of the search. g++ reads an array of the function itself several times faster than that of
    /// another variable, and a call would cost more than the relaxation.
    template <int Size>
    static constexpr void min_plus(static_minima<Size>& out, int begin) {
        cost_t second[to_size(middle * columns)]{};
        cost_t row[to_size(middle)]{};
        const auto& own = node_costs<P, LeafRule, step.unary>();
        for (int i = 0; i < middle * columns; ++i) {
            second[i] = edge_costs<P, LeafRule, step.second>().cost[i];
        }
        int filled = -1;
        for (int i = 0; i < Size; ++i) {
            const int from = (begin + i) / columns;
            if (from != filled) {
                filled = from;
                for (int j = 0; j < middle; ++j) {
                    row[j] = edge_costs<P, LeafRule, step.first>().cost[from * middle + j] + own.cost[j];
                }
            }
            cost_t best = forbidden;
            int best_at = 0;
            for (int j = 0, k = (begin + i) % columns; j < middle; ++j, k += columns) {
                if (row[j] + second[k] < best) {
                    best = row[j] + second[k];
                    best_at = j;
                }
            }
            out.cost[i] = best;
            out.argmin[i] = static_cast<choice_t>(best_at);
        }
    }
};

/// The argmin tables of all steps. A step needs earlier ones only, and the list makes them in that order, so that their
/// instantiations do not nest.
template <class P, bool LeafRule, int... Steps>
constexpr auto collect_argmins(int_list<Steps...>) {
    return std::array<const choice_t*, sizeof...(Steps) + 1>{computed<step_result<P, LeafRule, Steps>>.argmin...,
                                                             nullptr};
}

template <class P, bool LeafRule>
inline constexpr auto argmins = collect_argmins<P, LeafRule>(count_to<static_order<P, LeafRule>.step_count>{});

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
