// SPDX-License-Identifier: Apache-2.0
// The cheapest choice of a choice problem within its limit of memory, with a lower bound that says how far from the
// best it is at most: reductions, a dual ascent, a search by large neighbourhoods guided by the dual's prices, and an
// exact finish. It can be stopped at any time; for a number of rounds the result is the same on any number of cores.
#pragma once

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
    int rounds = 40;        ///< at most; after each the lanes take over the best choice of all
    int lanes = 1;          ///< searches beside the dual ascent; part of what is computed, unlike threads
    std::uint32_t seed = 1; ///< of the lanes' random numbers
    std::int64_t round_work = 300'000'000; ///< cells of each lane in a round
    int round_steps = 40;                  ///< of the dual ascent in a round
    std::int64_t finish_steps = 2'000'000; ///< of branch and bound; 0: none
    bool dominance = true;                 ///< strike out choices that another one dominates
    bool messages = true;                  ///< of the dual ascent; without them each edge is bounded by itself
    thread_pool threads{};
    function_ref<void(const certified_progress&)> report{}; ///< called after every round, by the caller's thread
    function_ref<bool()> stop{}; ///< asked often, by all threads; true: end with the best so far; empty: never
};

struct certified_result {
    status state = status::
        budget_exhausted; ///< solved: the choice is optimal; infeasible: proved that no choice is allowed and fits
    std::vector<choice_t> choice; ///< empty where none that is allowed and fits was found
    evaluation_of_choice value;   ///< of the choice, summed anew from the problem
    cost_t bound = 0;             ///< no choice that is allowed and fits costs less
    std::int64_t least_peak =
        0; ///< the smallest peak of the allowed choices seen, also where none fits: a limit that would do
    int rounds = 0;

    /// How much more than the best possible the choice costs at most, relative to the bound; infinite without a choice
    /// or a bound.
    double gap() const {
        return choice.empty() || (bound <= 0 && value.cost > 0) ? HUGE_VAL
               : bound <= 0                                     ? 0.0
                            : static_cast<double>(value.cost - bound) / static_cast<double>(bound);
    }
};

namespace detail {

class certified_search {
public:
    certified_search(const choice_problem& p, const certified_options& o)
        : p_(p), o_(o), reduced_(reduce(p, o.dominance)) {}

    certified_result run() {
        if (!reduced_.possible) {
            result_.state = status::infeasible;
            return std::move(result_);
        }
        for (const std::int64_t b : reduced_.base) {
            if (b > p_.limit) { // what is decided does not fit by itself
                result_.state = status::infeasible;
            }
        }
        if (reduced_.nodes.empty()) {
            offer({});
            result_.state = result_.choice.empty() ? status::infeasible : status::solved;
            result_.bound = result_.choice.empty() ? 0 : result_.value.cost;
            return std::move(result_);
        }
        search();
        return std::move(result_);
    }

private:
    bool stopped() const { return o_.stop && o_.stop(); }

    void search() {
        const split_graph graph = make_split_graph(reduced_);
        const edge_lists edges(reduced_);
        price_ascent ascent(reduced_, graph, o_.messages);
        std::int64_t most_cost = reduced_.constant; // above it no allowed choice is
        for (const reduced_node& n : reduced_.nodes) {
            most_cost = add_costs(std::max<cost_t>(0, most_cost), *std::max_element(n.costs.begin(), n.costs.end()));
        }
        for (const reduced_edge& e : reduced_.edges) {
            cost_t most = 0;
            for (const cost_t c : e.cells) {
                most = c < forbidden ? std::max(most, c) : most;
            }
            most_cost = add_costs(most_cost, most);
        }
        standing best_standing{INT64_MAX, 0, 0};
        std::vector<int> best;
        standing start_standing = best_standing; // for the first lanes: what fits comes first, edges are mended later
        std::vector<int> start;
        const auto seen = [&](const std::vector<int>& choice) {
            const assignment a(reduced_, edges, choice);
            const auto rank = [](const standing& s) { return std::tuple(s.over, s.broken, s.cost); };
            if (start.empty() || rank(a.now()) < rank(start_standing)) {
                start = choice;
                start_standing = a.now();
            }
        };
        bool climbing = result_.state != status::infeasible;
        if (climbing) {
            climbing = ascent.run(o_.round_steps, seen);
        } else {
            seen(std::vector<int>(reduced_.nodes.size(), 0));
        }
        std::vector<improver> lanes;
        for (int l = 0; l <= std::max(1, o_.lanes); ++l) { // the first one goes on from the best, the others start anew
            lanes.emplace_back(reduced_, graph, edges, start, o_.seed + 1000003U * static_cast<std::uint32_t>(l));
        }
        best = start;
        best_standing = start_standing;
        const bool small = reduced_.nodes.size() <= 2000;
        for (int round = 0; round < o_.rounds && result_.state != status::infeasible; ++round) {
            const std::vector<double> prices = ascent.prices();
            const auto bound = static_cast<double>(ascent.certified());
            const bool climbs = climbing;
            std::vector<int> decoded;
            standing decoded_standing{INT64_MAX, INT64_MAX, INT64_MAX};
            const dual_ascent settled = ascent.settled(2);
            o_.threads.run(lanes.size() + 1, [&](std::size_t job) {
                if (job > 1 &&
                    round % 4 == 0) { // starts anew from what the messages say when memory is a little dearer
                    dual_ascent dearer = settled;
                    std::vector<int> choice;
                    dearer.decode_at(settled.prices, 1.0 + 0.05 * (round / 4 % 5), choice);
                    lanes[job - 1].restart(choice);
                }
                if (job > 0) {
                    lanes[job - 1].run(o_.round_work, prices, bound, [&] { return stopped(); });
                } else if (climbs && !stopped()) {
                    climbing = ascent.run(o_.round_steps, [&](const std::vector<int>& choice) {
                        const assignment a(reduced_, edges, choice);
                        if (a.now() < decoded_standing) {
                            decoded_standing = a.now();
                            decoded = choice;
                        }
                    });
                }
            });
            result_.rounds = round + 1;
            if (!decoded.empty() && decoded_standing < best_standing) {
                best_standing = decoded_standing;
                best = decoded;
            }
            for (const improver& lane : lanes) {
                if (lane.now().now() < best_standing) {
                    best_standing = lane.now().now();
                    best = lane.now().choice();
                }
            }
            if (best_standing < lanes.front().now().now()) {
                lanes.front().restart(best);
            }
            result_.bound = std::max<cost_t>(result_.bound, ascent.certified());
            if (o_.report) {
                o_.report({round + 1, best_standing.is_feasible(), best_standing.cost, result_.bound});
            }
            if (result_.bound > most_cost) {
                result_.state =
                    status::infeasible; // weak duality: prices of memory make every choice cost more than any can
                break;
            }
            const bool closed = best_standing.is_feasible() && best_standing.cost <= result_.bound;
            if (closed || stopped()) {
                break;
            }
            if (small && o_.finish_steps > 0 && round % 4 == 3) {
                std::vector<int> found;
                dual_ascent at_best = ascent.settled(20);
                exact_finish finish(reduced_, graph, at_best);
                const std::int64_t known = best_standing.is_feasible() ? best_standing.cost : most_cost + 1;
                if (finish.run(known, o_.finish_steps, found)) {
                    best = found.empty() ? best : found;
                    best_standing = assignment(reduced_, edges, best).now();
                    if (best_standing.is_feasible()) {
                        result_.bound = best_standing.cost;
                    } else {
                        result_.state = status::infeasible;
                    }
                    break;
                }
            }
        }
        offer(best);
        if (!result_.choice.empty()) {
            result_.bound = std::min(result_.bound, result_.value.cost);
            result_.state = result_.bound == result_.value.cost ? status::solved : status::budget_exhausted;
        }
    }

    void offer(const std::vector<int>& choice) {
        std::vector<choice_t> all = reduced_.expand(choice);
        const evaluation_of_choice value = evaluate(p_, all);
        result_.least_peak = value.peak;
        if (value.fits(p_)) {
            result_.value = value;
            result_.choice = std::move(all);
        }
    }

    const choice_problem& p_;
    const certified_options& o_;
    reduced_problem reduced_;
    certified_result result_;
};

} // namespace detail

/// Solves a choice problem. Throws nothing but for want of memory; see certified_result for what it may end with.
inline certified_result solve_certified(const choice_problem& p, const certified_options& options = {}) {
    return detail::certified_search(p, options).run();
}

} // namespace tessera::search
