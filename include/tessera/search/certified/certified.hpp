// SPDX-License-Identifier: Apache-2.0
// The cheapest choice of a choice problem within its limit of memory, with a lower bound that says how far from the
// best it is at most: reductions, a dual ascent, a search by large neighbourhoods guided by the dual's prices, and an
// exact finish. It can be stopped at any time; for a number of rounds the result is the same on any number of cores.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/function_ref.hpp"
#include "tessera/search/certified/ascent.hpp"
#include "tessera/search/certified/finish.hpp"
#include "tessera/search/certified/improve.hpp"
#include "tessera/search/thread_pool.hpp"

namespace tessera::search {

/// How far a search has come.
struct certified_progress {
    int rounds = 0;
    bool fits = false; ///< a choice that is allowed and fits is known
    cost_t cost = 0;   ///< of the best choice, in full
    cost_t bound = 0;
};

struct certified_options {
    int rounds = 40; ///< at most
    /// Searches that start anew in every fourth round, beside the dual ascent and the one that goes on from the best of
    /// all. Part of what is computed, unlike threads.
    int lanes = 1;
    std::uint32_t seed = 1;                ///< of the searches' random numbers
    std::int64_t round_work = 300'000'000; ///< cells of each search in a round
    int round_steps = 40;                  ///< of the dual ascent in a round
    std::int64_t finish_steps = 2'000'000; ///< of branch and bound; 0: none
    bool dominance = true;                 ///< strike out choices that another one dominates
    bool messages = true;                  ///< of the dual ascent; without them each edge is bounded by itself
    thread_pool threads{};
    function_ref<void(const certified_progress&)> report{}; ///< called after every round, by the caller's thread
    function_ref<bool()> stop{}; ///< asked often, by all threads; true: end with the best so far; empty: never
};

/// How much more a cost is than a bound of it, relative to that; infinite above a bound of 0.
double relative_gap(cost_t cost, cost_t bound);

struct certified_result {
    /// solved: the choice is optimal; infeasible: proved that no choice is allowed and fits.
    status state = status::budget_exhausted;
    std::vector<choice_t> choice; ///< empty where none that is allowed and fits was found
    evaluation_of_choice value;   ///< of the choice, summed anew from the problem
    cost_t bound = 0;             ///< no choice that is allowed and fits costs less
    std::int64_t least_peak =
        0; ///< of the best allowed choice, also where it does not fit: a limit that would do; 0: none is known
    int rounds = 0;

    /// How much more than the best possible the choice costs at most, relative to the bound; infinite without a choice
    /// or a bound.
    double gap() const { return choice.empty() ? HUGE_VAL : relative_gap(value.cost, bound); }
};

namespace detail {

class certified_search {
public:
    certified_search(const choice_problem& p, const certified_options& o)
        : p_(p), o_(o), reduced_(reduce(p, o.dominance)) {}

    certified_result run();

private:
    /// A choice with its standing.
    struct judged {
        standing how{INT64_MAX, INT64_MAX, INT64_MAX};
        std::vector<int> choice;

        void take(const assignment& a);
        void take_better(const assignment& a) {
            if (a.now() < how) {
                take(a);
            }
        }
    };

    bool stopped() const { return o_.stop && o_.stop(); }

    void search();

    /// No allowed choice costs more.
    cost_t most_cost() const;

    /// From the first steps of the ascent, which also makes the first bound: what fits comes first here, for forbidden
    /// pairs are easier to mend.
    judged first_choice(price_ascent& ascent, const edge_lists& edges);

    /// The ascent and all lanes, at the same time where there are threads.
    void run_round(int round, price_ascent& ascent, std::vector<improver>& lanes, const edge_lists& edges,
                   judged& best);

    /// Returns true when branch and bound has seen all.
    bool finish(const split_graph& graph, const edge_lists& edges, const price_ascent& ascent, cost_t most,
                judged& best);

    void offer(const std::vector<int>& choice);

    const choice_problem& p_;
    const certified_options& o_;
    reduced_problem reduced_;
    certified_result result_;
    bool climbs_ = true; ///< the ascent gains something still
};

} // namespace detail

/// Solves a choice problem. Throws nothing but for want of memory; see certified_result for what it may end with.
certified_result solve_certified(const choice_problem& p, const certified_options& options = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/certified.inl"
#endif

#include "tessera/base/end_header.inl"
