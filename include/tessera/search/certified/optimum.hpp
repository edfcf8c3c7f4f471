// SPDX-License-Identifier: Apache-2.0
// The cheapest strategy of any network under OptCNN's additive model within the devices' memory, with a bound that says
// how far from the best possible it is at most.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/certified/bound.hpp"
#include "tessera/search/certified/lean.hpp"
#include "tessera/search/optcnn/compared.hpp"

#include <cstdio>

namespace tessera::search {

struct optimum_options {
    configuration_options offered{};
    modelled_options solver{};
    lower_options lowering{}; ///< its optimizer's states count as memory
    bool memory = true;       ///< within the devices' memory
    int most_tightened = 6;   ///< times that the limit is lowered where the plan needs more memory than the model says
};

struct optimum_result {
    strategy best{};
    modelled_choice model{};  ///< costs in ns a step; the bound is over all that is offered and fits by the model
    std::int64_t limit = 0;   ///< bytes of a device that the model allowed first; no_limit where there is none
    std::int64_t allowed = 0; ///< bytes of a device that it allowed in the end
    int tightened = 0;
    bool fits = true;  ///< the plan does, with all that is gathered and on its way
    bool lean = false; ///< none of those that the model says fit did: it is the cheapest of lean_strategies() that does

    double gap() const { return relative_gap(model.cost, model.bound); }
};

namespace detail {

/// What the device with the largest shard of every operator holds, for every choice.
template <class Problem>
std::vector<std::vector<std::int64_t>> most_resident(const graph_view& g, const Problem& problem, int states) {
    const resident_bytes held(g, states);
    std::vector<std::vector<std::int64_t>> all;
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        all.emplace_back();
        for (const configuration& c : problem.configurations[to_size(op)]) {
            all.back().push_back(held.most(g, op, d, c, problem.pool.data()));
        }
    }
    return all;
}

} // namespace detail

/// Shard i lies on device i. Memory is what resident_bytes counts, on the device with the largest shard of every
/// operator; where the plan needs more than that device has, the limit is lowered and the problem solved anew, while
/// the bound stays that of the first limit. Where that finds nothing, the cheapest of lean_strategies() whose plan fits
/// is the answer: these do not depend on the limit. Throws tessera::error where none of them fits, with the memory that
/// would do: with so much on every device a search of the same network on the same devices finds a strategy whose plan
/// fits.
template <class Problem = optcnn_problem>
optimum_result optimum_search(const graph_view& g, const cluster& on, const optimum_options& o = {}) {
    const Problem problem = make_optcnn_problem<Problem>(g, on, o.offered, o.solver.shortly.threads);
    const int states = o.lowering.update.state_count();
    const auto usages = detail::most_resident(g, problem, states);
    optimum_result r;
    r.limit = no_limit;
    for (int d = 0; d < on.devices() && o.memory; ++d) {
        const std::int64_t has = on.class_of(d).memory_bytes;
        r.limit = has > 0 ? std::min(r.limit, has) : r.limit;
    }
    r.allowed = r.limit;
    while (true) {
        modelled_choice found = solve_modelled(problem.costs, usages, r.allowed, o.solver);
        if (found.choice.empty()) {
            break;
        }
        const cost_t bound = r.tightened == 0 ? found.bound : r.model.bound;
        r.model = std::move(found);
        r.model.bound = bound;
        r.best = problem.strategy_of(r.model.choice);
        const std::int64_t lacking = r.limit == no_limit ? 0 : lacking_bytes(g, on, r.best, o.lowering);
        r.fits = lacking == 0;
        if (r.fits) {
            return r;
        }
        if (r.tightened >= o.most_tightened) {
            break;
        }
        r.allowed = std::min(r.allowed, r.model.used) - std::max<std::int64_t>(lacking, r.limit / 100);
        ++r.tightened;
        if (r.allowed <= 0) {
            break;
        }
    }
    const lean_strategies all = make_lean_strategies(g, on, problem, usages, o.lowering, o.solver);
    const lean_strategy* best = all.cheapest_that_fits(on);
    if (best == nullptr) {
        throw error("optimum: no strategy was found that fits in " + std::to_string(r.limit) +
                    " bytes of memory for each device; " + std::to_string(all.least_bytes()) + " would do");
    }
    const cost_t bound = r.model.bound; // 0 where the model says that nothing fits, which is no proof: it takes the
    r.model = {};                       // largest shards of all operators to be on one device
    r.model.choice = best->choice;
    r.model.cost = best->cost;
    r.model.bound = std::min(bound, best->cost);
    r.model.used = best->used;
    r.best = problem.strategy_of(r.model.choice);
    r.fits = true;
    r.lean = true;
    return r;
}

/// What was found, in a line.
std::string to_text(const optimum_result& r);

inline constexpr option_row optimum_rounds_option{
    "optimum-rounds", "of the certified solver, where memory or a network's shape leaves it something to do", 16, 1,
    10'000};
inline constexpr option_row beyond_memory_option{
    "beyond-memory", "1: the optimum of all strategies, whether they fit the devices' memory or not", 0, 0, 1};

namespace detail {

// A template so that it is compiled where it is used.
template <class Options>
search_found run_optimum(const graph_view& g, const cluster& on, const Options& o) {
    optimum_options how;
    how.lowering = o.lowering;
    how.memory = o.values[beyond_memory_option] == 0;
    how.solver.otherwise.rounds = o.values.template as<int>(optimum_rounds_option);
    how.solver.shortly.threads = how.solver.otherwise.threads = o.threads;
    const auto stop = [&] { return o.is_interrupted(); };
    how.solver.shortly.stop = how.solver.otherwise.stop = stop;
    const auto tell = [&](const certified_progress& now) {
        o.report({now.rounds, how.solver.otherwise.rounds, now.fits ? now.cost : INT64_MAX});
    };
    if (o.report) {
        how.solver.otherwise.report = tell;
    }
    optimum_result found;
    try {
        found = optimum_search(g, on, how);
    } catch (const error&) { // what everybody knows may fit all the same
        compare_options beside;
        beside.lowering = o.lowering;
        const compared_search all =
            compare_with_baselines(g, on, "data parallel", data_parallel(g, on.devices()), beside);
        if (!all.result().step.fits) {
            throw;
        }
        return {all.best(), "nothing that the model knows was found to fit the memory of the devices\n" + to_text(all)};
    }
    if (o.report) { // what is solved exactly takes no rounds
        o.report({how.solver.otherwise.rounds, how.solver.otherwise.rounds, found.model.cost});
    }
    return best_compared(g, on, "optimum", found.best, o, to_text(found));
}

} // namespace detail

inline constexpr search_record optimum_record{
    .name = "optimum",
    .title = "certified optimum",
    .about = "the cheapest within memory under the additive model, with a bound; a baseline where one is faster, or "
             "--faithful",
    .run = detail::run_optimum<search_options>,
    .options = {faithful_option, optimum_rounds_option, beyond_memory_option},
    .unit = "rounds",
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/optimum.inl"
#endif

#include "tessera/base/end_header.inl"
