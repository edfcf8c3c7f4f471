// SPDX-License-Identifier: Apache-2.0
// Tofu's search (Wang, Huang and Li, EuroSys 2019, section 5): one step for each prime factor of the number of devices,
// each the best possible after those before it, for the least total communication; and all steps at once, to compare
// with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/zero.hpp"
#include "tessera/search/optcnn/grouped_problem.hpp"
#include "tessera/search/optcnn/variable_elimination.hpp"
#include "tessera/search/tofu/coarsen.hpp"
#include "tessera/search/tofu/traffic.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera::search {

struct tofu_options {
    tofu_splits splits;
    coarsening coarse;
    tofu_traffic_options traffic;
    variable_elimination_options exact{20'000'000, 2'000'000'000}; ///< beyond which a step changes one group at a time
};

struct tofu_result {
    strategy best;
    tofu_steps steps;
    std::vector<std::vector<int>> histories; ///< of every operator: the loop that each step splits, or `copied`
    index_t bytes = 0;                       ///< that devices exchange in a step of training, as the options count them
    std::vector<index_t> step_bytes;         ///< how much more they are after each step than before it
    bool exact = true;                       ///< each step is the best possible after those before it
    int groups = 0;                          ///< of operators that are split alike
    int width = 0;                           ///< of variable elimination, the most of all steps
};

namespace detail {

class tofu_searcher {
public:
    using choices = std::vector<std::vector<int>>; ///< histories of a group

    tofu_searcher(const graph_view& g, const tofu_steps& steps, const tofu_options& o);

    /// Step by step.
    tofu_result recursive();

    /// All steps at once.
    tofu_result flat();

    /// All histories of every group.
    std::vector<choices> all_histories() const;

    /// Bytes of all choices of one of the histories offered to each group; a node for each.
    additive_problem problem_of(const std::vector<choices>& offered);

    /// What histories of all groups cost.
    index_t bytes_of_groups(const std::vector<std::vector<int>>& histories);

    /// The histories of a group that begin with one of those given, by one step more.
    std::vector<std::vector<int>> extended(int group, const std::vector<std::vector<int>>& before) const;

    /// A group's histories with another choice in step i, as far as all further steps may then still do what they do.
    std::vector<std::vector<int>> neighbours(int group, const std::vector<int>& h, int i) const;

    /// The configuration of an operator with a history of its group.
    configuration configuration_with(int op, const std::vector<int>& h, std::vector<index_t>& pool) const;
    const coarse_groups& groups() const { return coarse_; }
    /// Of every group, so far.
    const std::vector<std::vector<int>>& chosen() const { return chosen_; }

    /// A strategy and what it moves, of histories of groups.
    tofu_result result_of(const std::vector<std::vector<int>>& histories);

private:
    const description& desc(int op) const { return traffic_.descriptions()[to_size(op)]; }
    bool by_element(int group) const { return coarse_.elementwise[to_size(group)] != 0; }

    bool may_take(int group, const std::vector<int>& h, int choice, bool uneven) const;

    std::vector<int> loops_of(int op, const std::vector<int>& h) const;

    /// Bytes of what has to do with a group alone: a parameter is counted for the first of its users in the group.
    index_t unary(int group, const std::vector<int>& h);

    /// Takes the best of what is offered; returns its bytes.
    index_t solve(const std::vector<choices>& offered, tofu_result& r);

    void finish(tofu_result& r, index_t bytes) const;

    tofu_options o_;
    tofu_traffic traffic_;
    coarse_groups coarse_;
    choices chosen_; ///< of every group, so far
};

} // namespace detail

/// Tofu's recursion: the strategy that it finds, each step exactly the best after those before it unless the result
/// says otherwise. It keeps the rules on a machine of as many devices as the steps make groups. Pure: the same
/// arguments give the same strategy.
tofu_result tofu_search(const graph_view& g, const tofu_steps& steps, const tofu_options& o = {});

/// The recursion by what devices receive and by the paper's count, and of the two strategies the one with which devices
/// exchange less: each recursion only does its best step by step, and either may come out ahead. Ours.
tofu_result tofu_by_both_counts(const graph_view& g, const tofu_steps& steps, tofu_options o = {});

/// The least total communication of all splits of all steps at once. With many steps or loops that is often too much:
/// the result says if it is exact.
tofu_result flat_tofu(const graph_view& g, const tofu_steps& steps, const tofu_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/tofu/tofu.inl"
#endif

#include "tessera/base/end_header.inl"
