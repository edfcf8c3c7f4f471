// SPDX-License-Identifier: Apache-2.0
// Exhaustive search for the cheapest choice: depth first with an admissible lower bound, and without any pruning.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/search/optcnn/additive_problem.hpp"

namespace tessera::search {

/// What an exhaustive search found, and how many partial choices it looked at.
struct exhaustive_solution : solution {
    std::int64_t visited = 0;
};

namespace detail {

/// A cost table between the node of a level and the node of an earlier level.
struct back_edge {
    const cost_t* table = nullptr;
    int earlier = 0; ///< level of the other node
    int earlier_stride = 0;
    int later_stride = 0;
    cost_t least = 0; ///< least entry of the table
};

/// One node of a depth-first search.
struct level {
    const cost_t* unary = nullptr;
    int configurations = 0;
    int first_edge = 0;
    int last_edge = 0;
    cost_t bound = 0; ///< the nodes from this level on, and their back edges, cost at least this
};

constexpr cost_t least_of(const cost_t* costs, int count) {
    cost_t least = forbidden;
    for (int i = 0; i < count; ++i) {
        least = costs[i] < least ? costs[i] : least;
    }
    return least;
}

/// Fills the bounds of `depth` levels; `levels[depth]` is a sentinel.
constexpr void fill_bounds(level* levels, const back_edge* edges, int depth) {
    levels[depth].bound = 0;
    for (int d = depth - 1; d >= 0; --d) {
        cost_t bound = add_costs(levels[d + 1].bound, least_of(levels[d].unary, levels[d].configurations));
        for (int e = levels[d].first_edge; e < levels[d].last_edge; ++e) {
            bound = add_costs(bound, edges[e].least);
        }
        levels[d].bound = bound;
    }
}

/// Cost of the node of level `at` in configuration c, with its edges to the levels before it.
template <class Choice>
constexpr cost_t cost_at_level(const level& at, const back_edge* edges, const Choice& choice, int c) {
    cost_t sum = at.unary[c];
    for (int e = at.first_edge; e < at.last_edge; ++e) {
        const int earlier = choice[to_size(edges[e].earlier)];
        sum = add_costs(sum, edges[e].table[earlier * edges[e].earlier_stride + c * edges[e].later_stride]);
    }
    return sum;
}

/// Where a depth-first search stands; it can be stopped and taken up again. `Choices` and
/// `Costs` are indexable by level, `Costs` by one more.
template <class Choices, class Costs>
struct depth_first_state {
    Choices choice{};  ///< of the levels above `depth`
    Choices found{};   ///< best complete choice so far
    Costs partial{};   ///< partial[d]: cost of the levels before d
    Choices pending{}; ///< next configuration to try
    int depth = 0;
    cost_t found_cost = forbidden;
    cost_t limit = forbidden; ///< only what costs less is of interest
    std::int64_t visited = 0;
    bool greedy = true;
    bool done = false;
};

/// First part of the search: takes the cheapest configuration level by level. The second part then looks for the first
/// choice, in lexicographic order, that is at least as good.
template <class State>
constexpr void go_greedy(const level* levels, const back_edge* edges, int depth, State& s, std::int64_t limit) {
    while (s.depth < depth && s.visited < limit) {
        const level& here = levels[s.depth];
        cost_t best = forbidden;
        choice_t best_at = 0;
        for (int c = 0; c < here.configurations; ++c) {
            const cost_t cost = cost_at_level(here, edges, s.found, c);
            if (cost < best) {
                best = cost;
                best_at = static_cast<choice_t>(c);
            }
        }
        s.visited += here.configurations;
        s.found[to_size(s.depth)] = best_at;
        s.partial[to_size(s.depth + 1)] = add_costs(s.partial[to_size(s.depth)], best);
        ++s.depth;
    }
    if (s.depth == depth) {
        s.found_cost = s.partial[to_size(depth)];
        s.limit = s.found_cost < forbidden ? s.found_cost + 1 : forbidden;
        s.depth = 0;
        s.done = depth == 0;
        s.greedy = false;
    }
}

/// Goes on until all choices are covered or `s.visited` reaches `limit`.
template <class State>
constexpr void go_depth_first(const level* levels, const back_edge* edges, int depth, State& s, std::int64_t limit) {
    if (s.greedy) {
        go_greedy(levels, edges, depth, s, limit);
    }
    while (!s.greedy && !s.done) {
        const int d = s.depth;
        const int c = s.pending[to_size(d)];
        if (c == levels[d].configurations) {
            s.pending[to_size(d)] = 0;
            s.done = d == 0;
            --s.depth;
            continue;
        }
        if (s.visited >= limit) {
            break;
        }
        s.pending[to_size(d)] = static_cast<choice_t>(c + 1);
        ++s.visited;
        const cost_t sum = add_costs(s.partial[to_size(d)], cost_at_level(levels[d], edges, s.choice, c));
        if (add_costs(sum, levels[d + 1].bound) >= s.limit) {
            continue;
        }
        s.choice[to_size(d)] = static_cast<choice_t>(c);
        if (d + 1 < depth) {
            s.partial[to_size(d + 1)] = sum;
            ++s.depth;
            continue;
        }
        s.limit = sum;
        s.found_cost = sum;
        for (int k = 0; k < depth; ++k) {
            s.found[to_size(k)] = s.choice[to_size(k)];
        }
    }
}

/// The levels of a depth-first search over some nodes of a problem, at run time.
struct level_list {
    std::vector<level> levels;
    std::vector<back_edge> edges;
};

/// A node or an edge that still exists, with its costs.
struct live_node {
    int node = 0;
    const cost_t* unary = nullptr;
    int configurations = 0;
};
struct live_edge {
    int from = 0;
    int to = 0;
    const cost_t* table = nullptr;
};

/// Levels for `nodes` in the given order; edges to other nodes are left out. What works with vectors is a template, so
/// that only programs that search at run time pay for compiling it.
template <class Nodes, class Edges>
level_list make_levels(const Nodes& nodes, const Edges& edges, int node_count) {
    std::vector<int> level_of(to_size(node_count), -1);
    for (std::size_t d = 0; d < nodes.size(); ++d) {
        level_of[to_size(nodes[d].node)] = static_cast<int>(d);
    }
    std::vector<std::vector<back_edge>> back(nodes.size());
    for (const live_edge& e : edges) {
        const int from = level_of[to_size(e.from)];
        const int to = level_of[to_size(e.to)];
        if (from < 0 || to < 0) {
            continue;
        }
        const int rows = nodes[to_size(from)].configurations;
        const int columns = nodes[to_size(to)].configurations;
        const cost_t least = least_of(e.table, rows * columns);
        if (from < to) {
            back[to_size(to)].push_back({e.table, from, columns, 1, least});
        } else {
            back[to_size(from)].push_back({e.table, to, 1, columns, least});
        }
    }
    level_list list;
    for (std::size_t d = 0; d < nodes.size(); ++d) {
        const int first = static_cast<int>(list.edges.size());
        list.edges.insert(list.edges.end(), back[d].begin(), back[d].end());
        list.levels.push_back({nodes[d].unary, nodes[d].configurations, first, static_cast<int>(list.edges.size()), 0});
    }
    list.levels.push_back({});
    fill_bounds(list.levels.data(), list.edges.data(), static_cast<int>(nodes.size()));
    return list;
}

using run_time_state = depth_first_state<std::vector<choice_t>, std::vector<cost_t>>;

/// The whole depth-first search, until `budget` partial choices are visited.
template <class List>
run_time_state depth_first(const List& list, std::int64_t budget) {
    const std::size_t depth = list.levels.size() - 1;
    run_time_state s;
    s.choice.resize(depth);
    s.found.resize(depth);
    s.partial.resize(depth + 1);
    s.pending.resize(depth);
    go_depth_first(list.levels.data(), list.edges.data(), static_cast<int>(depth), s, budget);
    return s;
}

} // namespace detail

/// The cheapest choice, by depth-first search in the order of the nodes. A branch is cut when the cost so far, plus for
/// every remaining node and edge its least cost, is no better than the best choice known. Among equally cheap choices
/// the lexicographically first one. Stops after visiting `budget` partial choices, then with the best choice so far.
template <class Problem>
exhaustive_solution exhaustive(const Problem& problem, std::int64_t budget = default_budget) {
    std::vector<detail::live_node> nodes;
    std::vector<detail::live_edge> edges;
    for (int v = 0; v < problem.nodes(); ++v) {
        nodes.push_back({v, problem.unary(v).data(), problem.configurations(v)});
    }
    for (int e = 0; e < problem.edges(); ++e) {
        edges.push_back({problem.edge(e).from, problem.edge(e).to, problem.table(e).data()});
    }
    detail::run_time_state s = detail::depth_first(detail::make_levels(nodes, edges, problem.nodes()), budget);
    exhaustive_solution result;
    result.visited = s.visited;
    result.cost = s.found_cost;
    result.state = !s.done ? status::budget_exhausted : s.found_cost >= forbidden ? status::infeasible : status::solved;
    if (s.found_cost < forbidden) {
        result.choice = std::move(s.found);
    }
    return result;
}

/// The cheapest choice by trying all of them; for tests.
template <class Problem>
exhaustive_solution brute_force(const Problem& problem) {
    exhaustive_solution best;
    best.cost = forbidden;
    best.state = status::infeasible;
    std::vector<choice_t> choice(to_size(problem.nodes()), 0);
    int turned = 0;
    while (turned < problem.nodes() || best.visited == 0) {
        ++best.visited;
        const cost_t cost = problem.cost(choice);
        if (cost < best.cost) {
            best.state = status::solved;
            best.cost = cost;
            best.choice = choice;
        }
        // The last node turns fastest, as in the depth-first search.
        for (turned = 0; turned < problem.nodes(); ++turned) {
            const int v = problem.nodes() - 1 - turned;
            if (++choice[to_size(v)] < problem.configurations(v)) {
                break;
            }
            choice[to_size(v)] = 0;
        }
    }
    return best;
}

/// Number of choices of a problem.
long double space_size(const additive_problem& problem);

/// Number of choices of a problem, exactly, in decimal digits.
template <class Problem>
std::string space_size_text(const Problem& problem) {
    std::string digits = "1"; // least significant first
    for (int v = 0; v < problem.nodes(); ++v) {
        int carry = 0;
        for (char& digit : digits) {
            carry += (digit - '0') * problem.configurations(v);
            digit = static_cast<char>('0' + carry % 10);
            carry /= 10;
        }
        for (; carry > 0; carry /= 10) {
            digits.push_back(static_cast<char>('0' + carry % 10));
        }
    }
    return {digits.rbegin(), digits.rend()};
}

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/exhaustive/exhaustive.inl"
#endif

#include "tessera/base/end_header.inl"
