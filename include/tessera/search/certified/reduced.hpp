// SPDX-License-Identifier: Apache-2.0
// What is left of a choice problem when all that is decided has been taken away: choices that no whole choice can have
// (arc consistency), choices that another one dominates (dead-end elimination, Goldstein 1994, with memory), edges that
// are sums over their two nodes, nodes with one choice. Every reduction keeps an optimum.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/live_points.hpp"

#include <map>

namespace tessera::search::detail {

/// A node of the reduced problem. Costs may be negative, for edges give to them.
struct reduced_node {
    int origin = 0;                  ///< in the problem
    std::vector<choice_t> choices;   ///< of the problem that are left
    std::vector<std::int64_t> costs; ///< below `forbidden`
    std::vector<std::int64_t> usages;
    point_range live;

    int count() const { return static_cast<int>(choices.size()); }
};

/// An edge between two reduced nodes, a row for each choice of `from`.
struct reduced_edge {
    int from = 0, to = 0;
    std::vector<std::int64_t> cells; ///< `forbidden` for what may not be chosen together
};

struct reduced_problem {
    bool possible = true;               ///< false: every choice of all has a forbidden cost
    std::int64_t constant = 0;          ///< of the cost
    std::int64_t limit = no_limit;      ///< of usages
    std::vector<reduced_node> nodes;    ///< with two choices or more
    std::vector<reduced_edge> edges;    ///< one at most between two nodes
    std::vector<choice_t> decided;      ///< for each node of the problem its only choice, where it is no reduced node
    int points = 0;                     ///< of time
    std::vector<std::int64_t> base;     ///< at each point: usages of what is decided
    std::int64_t forbidden_choices = 0; ///< removed by arc consistency
    std::int64_t dominated_choices = 0; ///< removed because another one is never worse
    std::int64_t separable_edges = 0;   ///< that were sums over their nodes

    /// The problem's choice for a choice among what is left.
    template <class Choice>
    std::vector<choice_t> expand(const Choice& choice) const {
        std::vector<choice_t> all = decided;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all[to_size(nodes[i].origin)] = nodes[i].choices[to_size(choice[i])];
        }
        return all;
    }
};

/// Nodes whose pairs of choices read more cells are not searched for dominated choices: it would take longer than it
/// saves.
inline constexpr std::int64_t most_dominance_work = 200'000;

/// Works on a copy of the problem in which choices are struck out.
class reducer {
public:
    explicit reducer(const choice_problem& p);

    reduced_problem run(bool dominance);

private:
    void merge_edges();

    std::int64_t cell(const reduced_edge& e, int node, std::size_t mine, std::size_t other) const;
    int other_end(const reduced_edge& e, int node) const { return node == e.from ? e.to : e.from; }

    /// Strikes out choices without a partner at some neighbour, until every one has (AC-3, Mackworth 1977).
    void make_consistent();

    bool has_partner(const reduced_edge& e, int node, std::size_t choice, int other) const;

    /// Whether taking `better` for `worse` costs nothing, whatever the neighbours choose, and uses no more memory.
    bool dominates(int v, std::size_t better, std::size_t worse) const;

    /// Cells that all pairs of choices of a node read, at most.
    std::int64_t work_of(int v) const;

    bool strike_dominated();

    void build();

    std::vector<std::vector<std::size_t>> choices_left() const;

    void build_edge(const reduced_edge& e, const std::vector<std::vector<std::size_t>>& left,
                    const std::vector<int>& number);

    /// Keeps the points at which the limit can be passed.
    void build_points(const live_points& points, const std::vector<std::vector<std::size_t>>& left,
                      const std::vector<int>& number);

    const choice_problem& p_;
    reduced_problem result_;
    std::vector<std::vector<std::int64_t>> costs_;
    std::vector<std::vector<char>> kept_;
    std::vector<reduced_edge> edges_;
    std::vector<std::vector<std::size_t>> around_;
};

/// Reduces a problem. `dominance`: dominated choices are struck out too, which keeps one optimum, not all.
inline reduced_problem reduce(const choice_problem& p, bool dominance = true) { return reducer(p).run(dominance); }

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/reduced.inl"
#endif

#include "tessera/base/end_header.inl"
