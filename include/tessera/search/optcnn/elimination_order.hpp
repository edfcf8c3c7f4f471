// SPDX-License-Identifier: Apache-2.0
// The order of OptCNN's eliminations, from the structure of the graph alone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/exhaustive/exhaustive.hpp"

namespace tessera::search {

/// What an elimination removes. `node`: a node with one edge in and one edge out; `edge`: one of two parallel edges;
/// `leaf`: a node with a single edge, in or out, which OptCNN keeps (it is folded into its neighbour, also exactly).
enum class elimination : std::uint8_t { node, edge, leaf };

/// One elimination. Edge tables are numbered 0 to edges - 1 as given; step s makes table edges + s (node, edge) or
/// makes unary table nodes + s (leaf), after 0 to nodes - 1 as given.
struct elimination_step {
    elimination kind = elimination::node;
    bool leaf_is_source = false; ///< the leaf's edge goes out of it
    int node = -1;               ///< eliminated node, or -1
    int from = -1;               ///< node whose configurations are the rows of the result; a leaf's neighbour
    int to = -1;                 ///< node of its columns, or -1
    int first = -1;              ///< edge table: into the node, or the older parallel edge, or the leaf's
    int second = -1;             ///< edge table: out of the node, or the newer parallel edge
    int unary = -1;              ///< unary table of the eliminated node
    int neighbour_unary = -1;    ///< unary table of the leaf's neighbour, before this step
};

/// What a search by elimination did.
struct elimination_statistics {
    int remaining = 0; ///< nodes left to enumerate: K in the paper
    int node_eliminations = 0;
    int edge_eliminations = 0;
    int leaf_eliminations = 0;
    std::int64_t relaxations = 0; ///< of the eliminations
    std::int64_t visited = 0;     ///< partial choices of the enumeration
};

namespace detail {

/// Finds the order of eliminations from the structure of the graph alone. `Work` has the sizes `nodes` and `edges`,
/// arrays of int: from, to, next_out, next_in (2 * edges), first_out, first_in, out_degree, in_degree, unary (nodes),
/// leaves, inner (nodes + 2 * edges), and of elimination_step: steps (edges).
template <class Work>
class order_finder {
public:
    constexpr explicit order_finder(Work& work, bool leaf_rule) : w_{work}, leaf_rule_{leaf_rule} {}

    /// `w.from` and `w.to` of the given edges must be set.
    constexpr void run() {
        for (int v = 0; v < w_.nodes; ++v) {
            w_.first_out[to_size(v)] = w_.first_in[to_size(v)] = -1;
            w_.unary[to_size(v)] = v;
        }
        for (int e = 0; e < w_.edges; ++e) {
            add_edge(e, w_.from[to_size(e)], w_.to[to_size(e)]);
        }
        for (int v = 0; v < w_.nodes; ++v) {
            look_at(v);
        }
        int next_leaf = 0;
        int next_inner = 0;
        while (next_leaf < leaf_count_ || next_inner < inner_count_) {
            // Leaves first: they cost a factor of C less than nodes.
            if (next_leaf < leaf_count_) {
                const int v = w_.leaves[to_size(next_leaf++)];
                if (is_leaf(v)) {
                    eliminate_leaf(v);
                }
            } else {
                const int v = w_.inner[to_size(next_inner++)];
                if (is_inner(v)) {
                    eliminate_node(v);
                }
            }
        }
    }

private:
    constexpr bool is_leaf(int v) const {
        return leaf_rule_ && w_.in_degree[to_size(v)] + w_.out_degree[to_size(v)] == 1;
    }

    /// On a cycle of two nodes the result would be an edge from a node to itself.
    constexpr bool is_inner(int v) const {
        return w_.in_degree[to_size(v)] == 1 && w_.out_degree[to_size(v)] == 1 &&
               w_.from[to_size(w_.first_in[to_size(v)])] != w_.to[to_size(w_.first_out[to_size(v)])];
    }

    constexpr void look_at(int v) {
        if (is_leaf(v)) {
            w_.leaves[to_size(leaf_count_++)] = v;
        } else if (is_inner(v)) {
            w_.inner[to_size(inner_count_++)] = v;
        }
    }

    /// Links an edge, merged with the one that is parallel to it, if any.
    constexpr void add_edge(int e, int from, int to) {
        int parallel = w_.first_out[to_size(from)];
        while (parallel >= 0 && w_.to[to_size(parallel)] != to) {
            parallel = w_.next_out[to_size(parallel)];
        }
        if (parallel >= 0) {
            remove_edge(parallel);
            elimination_step& step = w_.steps[to_size(w_.step_count)];
            step.kind = elimination::edge;
            step.from = from;
            step.to = to;
            step.first = parallel;
            step.second = e;
            e = w_.edges + w_.step_count++;
        }
        w_.from[to_size(e)] = from;
        w_.to[to_size(e)] = to;
        w_.next_out[to_size(e)] = w_.first_out[to_size(from)];
        w_.first_out[to_size(from)] = e;
        ++w_.out_degree[to_size(from)];
        w_.next_in[to_size(e)] = w_.first_in[to_size(to)];
        w_.first_in[to_size(to)] = e;
        ++w_.in_degree[to_size(to)];
    }

    template <class Links>
    static constexpr void unlink(int& first, Links& next, int e) {
        if (first == e) {
            first = next[to_size(e)];
            return;
        }
        int before = first;
        while (next[to_size(before)] != e) {
            before = next[to_size(before)];
        }
        next[to_size(before)] = next[to_size(e)];
    }

    constexpr void remove_edge(int e) {
        const int from = w_.from[to_size(e)];
        const int to = w_.to[to_size(e)];
        unlink(w_.first_out[to_size(from)], w_.next_out, e);
        unlink(w_.first_in[to_size(to)], w_.next_in, e);
        --w_.out_degree[to_size(from)];
        --w_.in_degree[to_size(to)];
    }

    constexpr void eliminate_leaf(int v) {
        const bool source = w_.out_degree[to_size(v)] == 1;
        const int e = source ? w_.first_out[to_size(v)] : w_.first_in[to_size(v)];
        const int neighbour = source ? w_.to[to_size(e)] : w_.from[to_size(e)];
        remove_edge(e);
        elimination_step& step = w_.steps[to_size(w_.step_count)];
        step.kind = elimination::leaf;
        step.leaf_is_source = source;
        step.node = v;
        step.from = neighbour;
        step.first = e;
        step.unary = w_.unary[to_size(v)];
        step.neighbour_unary = w_.unary[to_size(neighbour)];
        w_.unary[to_size(neighbour)] = w_.nodes + w_.step_count++;
        w_.unary[to_size(v)] = -1;
        look_at(neighbour);
    }

    constexpr void eliminate_node(int v) {
        const int in = w_.first_in[to_size(v)];
        const int out = w_.first_out[to_size(v)];
        const int from = w_.from[to_size(in)];
        const int to = w_.to[to_size(out)];
        remove_edge(in);
        remove_edge(out);
        elimination_step& step = w_.steps[to_size(w_.step_count)];
        step.kind = elimination::node;
        step.node = v;
        step.from = from;
        step.to = to;
        step.first = in;
        step.second = out;
        step.unary = w_.unary[to_size(v)];
        w_.unary[to_size(v)] = -1;
        const int e = w_.edges + w_.step_count++;
        add_edge(e, from, to);
        look_at(from);
        look_at(to);
    }

    Work& w_;
    bool leaf_rule_;
    int leaf_count_ = 0;
    int inner_count_ = 0;
};

/// Storage of an order_finder at run time.
template <class Problem>
struct run_time_order {
    int nodes = 0;
    int edges = 0;
    int step_count = 0;
    std::vector<int> from, to, next_out, next_in;
    std::vector<int> first_out, first_in, out_degree, in_degree, unary; ///< unary: latest table, -1 once eliminated
    std::vector<int> leaves, inner;
    std::vector<elimination_step> steps;

    run_time_order(const Problem& problem, bool leaf_rule) : nodes{problem.nodes()}, edges{problem.edges()} {
        for (std::vector<int>* list : {&from, &to, &next_out, &next_in}) {
            list->resize(2 * to_size(edges));
        }
        for (std::vector<int>* list : {&first_out, &first_in, &out_degree, &in_degree, &unary}) {
            list->resize(to_size(nodes));
        }
        for (std::vector<int>* list : {&leaves, &inner}) {
            list->resize(to_size(nodes) + 2 * to_size(edges));
        }
        steps.resize(to_size(edges));
        for (int e = 0; e < edges; ++e) {
            from[to_size(e)] = problem.edge(e).from;
            to[to_size(e)] = problem.edge(e).to;
        }
        order_finder<run_time_order<Problem>>(*this, leaf_rule).run();
    }
};

/// Relaxations of a step; `configurations(node)` gives the sizes.
template <class Sizes>
constexpr std::int64_t relaxations_of(const elimination_step& step, const Sizes& configurations) {
    std::int64_t count = configurations(step.from);
    count *= step.to >= 0 ? configurations(step.to) : 1;
    return count * (step.node >= 0 ? configurations(step.node) : 1);
}

/// Fills in the choices of the eliminated nodes; `argmin(s)` is the table that step s stored.
template <class Steps, class Argmins, class Sizes, class Choice>
constexpr void undo(const Steps& steps, int count, const Argmins& argmin, const Sizes& configurations, Choice& choice) {
    for (int s = count - 1; s >= 0; --s) {
        const elimination_step& step = steps[to_size(s)];
        if (step.node >= 0) {
            int cell = choice[to_size(step.from)];
            if (step.to >= 0) {
                cell = cell * configurations(step.to) + choice[to_size(step.to)];
            }
            choice[to_size(step.node)] = argmin(s)[cell];
        }
    }
}

} // namespace detail

} // namespace tessera::search

#include "tessera/base/end_header.inl"
