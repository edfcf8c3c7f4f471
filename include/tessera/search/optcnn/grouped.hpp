// SPDX-License-Identifier: Apache-2.0
// OptCNN's cost model with one choice for all operators of a kind, so that unrolled networks stay small enough for
// exact search: a start for local searches, and what they are compared with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/optcnn.hpp"

namespace tessera::search {

struct grouped_result {
    strategy best;
    cost_t cost = 0;         ///< ns per step in the model
    bool exact = false;      ///< by variable elimination; otherwise a local optimum
    elimination_width width; ///< of the problem of groups
    int groups = 0;
};

/// The cheapest strategy of OptCNN's model with one choice for all operators of a kind. The additive model charges a
/// shared parameter to each of its users; here it is synchronized once for each kind. Throws tessera::error for a
/// machine without devices.
template <class Problem = optcnn_problem>
grouped_result grouped_optcnn(const graph_view& g, const machine& on, const optcnn_options& options = {},
                              std::int64_t relaxations = 1'000'000'000) {
    const Problem problem = make_optcnn_problem<Problem>(g, on, options.offered);
    grouped_result result;
    std::vector<int> first; // operator of each group; kinds whose operators differ in what they offer are parted
    const std::vector<int> group_of = detail::alike_groups(g, problem, first);
    result.groups = static_cast<int>(first.size());
    std::vector<std::vector<cost_t>> less;
    for (std::size_t i = 0; i < first.size(); ++i) {
        less.emplace_back();
        const auto users = std::count(group_of.begin(), group_of.end(), static_cast<int>(i));
        if (users > 1 && detail::starts_block(g, first[i])) {
            const cost::op_model m = cost::model_of(g, first[i]);
            for (const configuration& c : problem.configurations[to_size(first[i])]) {
                less.back().push_back((users - 1) * cost::synchronization_time(m, c, nullptr, on));
            }
        }
    }
    const additive_problem small = grouped(problem.costs, group_of, result.groups, less);
    variable_elimination_options limits;
    limits.budget = relaxations;
    limits.largest_table = relaxations / 10;
    variable_elimination_solution exact = eliminate_variables(small, limits);
    result.width = exact.order;
    result.exact = exact.state == status::solved;
    std::vector<choice_t> choice = exact.choice;
    if (!result.exact) {
        cost_t best = forbidden;
        for (const baseline b : {baseline::data_parallel, baseline::one_weird_trick, baseline::model_parallel}) {
            std::vector<choice_t> start;
            for (int op : first) {
                const std::vector<configuration>& offered = problem.configurations[to_size(op)];
                const auto place =
                    std::find(offered.begin(), offered.end(), baseline_configuration(g, op, on.devices, b));
                start.push_back(static_cast<choice_t>(place == offered.end() ? 0 : place - offered.begin()));
            }
            solution found = descend(small, std::move(start));
            if (found.cost < best || choice.empty()) {
                best = found.cost;
                choice = std::move(found.choice);
            }
        }
    }
    result.cost = small.cost(choice);
    std::vector<choice_t> all;
    for (int group : group_of) {
        all.push_back(choice[to_size(group)]);
    }
    result.best = problem.strategy_of(all);
    return result;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
