// SPDX-License-Identifier: Apache-2.0
// OptCNN on a device graph beside the baselines, all simulated; by eliminations, or exactly by variable elimination.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/compared.hpp"
#include "tessera/search/optcnn/cluster.hpp"
#include "tessera/search/optcnn/grouped.hpp"

#include <utility>

namespace tessera::search {

/// What OptCNN found on a device graph, how, and beside which baselines.
struct optcnn_on_cluster : compared_search {
    optcnn_result
        model; ///< OptCNN's own answer, its cost in the additive model, how it was found and how wide the problem was
};

/// OptCNN on a device graph: the fastest by simulation of what it finds and the baselines, by name, or, if the
/// comparison is to be faithful, what it finds, with the
/// shortfall. Throws what compare_with_baselines() throws.
template <class Problem = optcnn_problem>
optcnn_on_cluster optcnn_search(const graph_view& g, const cluster& on, const optcnn_options& options = {},
                                const compare_options& comparison = {}) {
    const Problem problem = make_optcnn_problem<Problem>(g, on, options.offered, options.threads);
    optcnn_result found = solve_optcnn(g, problem, on.devices(), options);
    optcnn_on_cluster r;
    static_cast<compared_search&>(r) = compare_with_baselines(g, on, "OptCNN", found.best, comparison);
    r.model = std::move(found);
    return r;
}

inline constexpr option_row faithful_option{
    "faithful", "1: what a search under a cost model finds, even where a baseline is faster by simulation", 0, 0, 1};

namespace detail {

search_found best_compared(const graph_view& g, const cluster& on, const std::string& name, const strategy& found,
                           const search_options& o, const std::string& text);

} // namespace detail

// Templates, as their records are, so that the searches are compiled where they are used, not wherever the header is
// included.

template <class Options>
search_found run_optcnn(const graph_view& g, const cluster& on, const Options& o) {
    const optcnn_result found = solve_optcnn(g, make_optcnn_problem(g, on, {}, o.threads), on.devices());
    std::string text = std::string("found by ") + to_text(found.by);
    text += found.by == optcnn_method::eliminations
                ? "\n"
                : ", over tables of " + std::to_string(found.width) + " operators\n";
    return detail::best_compared(g, on, "OptCNN", found.best, o, text);
}

template <class Options>
search_found run_elimination(const graph_view& g, const cluster& on, const Options& o) {
    const auto costs = make_optcnn_problem(g, on, {}, o.threads);
    const variable_elimination_solution found = eliminate_variables(costs.costs);
    if (found.state != status::solved) {
        throw error("variable elimination meets tables over " + std::to_string(found.order.width) +
                    " operators, which are too large here; search with optcnn, which then groups operators of a kind, "
                    "or mcmc");
    }
    return detail::best_compared(g, on, "variable elimination", costs.strategy_of(found.choice), o, {});
}

template <class Options>
search_found run_grouped_optcnn(const graph_view& g, const cluster& on, const Options& o) {
    const grouped_result found = grouped_optcnn(g, uniform_machine(on, g.ops[0].attributes.math));
    return detail::best_compared(g, on, "grouped OptCNN", found.best, o, {});
}

template <class Options = search_options>
inline constexpr search_record optcnn_record{
    .name = "optcnn",
    .title = "OptCNN",
    .about = "OptCNN's eliminations under the additive model; a baseline where one is faster, or --faithful",
    .run = run_optcnn<Options>,
    .options = {faithful_option},
    .is_measured = true,
};

template <class Options = search_options>
inline constexpr search_record elimination_record{
    .name = "elimination",
    .title = "variable elimination",
    .about = "the same exactly by variable elimination, for networks that OptCNN's rules leave large",
    .run = run_elimination<Options>,
    .options = {faithful_option},
};

template <class Options = search_options>
inline constexpr search_record grouped_optcnn_record{
    .name = "grouped-optcnn",
    .title = "grouped OptCNN",
    .about = "the same with one choice for all operators of a kind, on devices that are all as near",
    .run = run_grouped_optcnn<Options>,
    .options = {faithful_option},
};

/// Searches under a model of costs. A new one is a record, and a row here.
template <class Options = search_options>
inline constexpr std::array modelled_searches{&optcnn_record<Options>, &elimination_record<Options>,
                                              &grouped_optcnn_record<Options>};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/optcnn/compared.inl"
#endif

#include "tessera/base/end_header.inl"
