// SPDX-License-Identifier: Apache-2.0
// Bodies of certified.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/certified.hpp"

namespace tessera::search {

TESSERA_INLINE double relative_gap(cost_t cost, cost_t bound) {
    return bound > 0 ? static_cast<double>(cost - bound) / static_cast<double>(bound) : cost > 0 ? HUGE_VAL : 0.0;
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE certified_result certified_search::run() {
    if (!reduced_.possible) {
        result_.state = status::infeasible;
        return std::move(result_);
    }
    const bool decided_fits =
        std::all_of(reduced_.base.begin(), reduced_.base.end(), [this](std::int64_t used) { return used <= p_.limit; });
    if (reduced_.nodes.empty() || !decided_fits) {
        offer(std::vector<int>(reduced_.nodes.size(), 0));
        result_.state = result_.choice.empty() ? status::infeasible : status::solved;
        result_.bound = result_.choice.empty() ? 0 : result_.value.cost;
        return std::move(result_);
    }
    search();
    return std::move(result_);
}

TESSERA_INLINE void certified_search::judged::take(const assignment& a) {
    how = a.now();
    choice = a.choice();
}

TESSERA_INLINE void certified_search::search() {
    const split_graph graph = make_split_graph(reduced_);
    const edge_lists edges(reduced_);
    price_ascent ascent(reduced_, graph, o_.messages);
    judged best = first_choice(ascent, edges);
    std::vector<improver> lanes; // the first one goes on from the best
    for (int l = 0; l <= std::max(1, o_.lanes); ++l) {
        lanes.emplace_back(reduced_, graph, edges, best.choice, o_.seed + 1000003U * static_cast<std::uint32_t>(l));
    }
    const cost_t most = most_cost();
    const bool small = reduced_.nodes.size() <= 2000;
    for (int round = 0; round < o_.rounds; ++round) {
        run_round(round, ascent, lanes, edges, best);
        result_.rounds = round + 1;
        result_.bound = std::max<cost_t>(result_.bound, ascent.certified());
        if (o_.report) {
            o_.report({round + 1, best.how.is_feasible(), best.how.cost, result_.bound});
        }
        if (result_.bound > most) { // weak duality: prices of memory make every choice cost more than any can
            result_.state = status::infeasible;
            break;
        }
        if (stopped() || (best.how.is_feasible() && best.how.cost <= result_.bound) ||
            (small && o_.finish_steps > 0 && round % 4 == 3 && finish(graph, edges, ascent, most, best))) {
            break;
        }
    }
    offer(best.choice);
    if (!result_.choice.empty()) {
        result_.bound = std::min(result_.bound, result_.value.cost);
        result_.state = result_.bound == result_.value.cost ? status::solved : status::budget_exhausted;
    }
}

TESSERA_INLINE cost_t certified_search::most_cost() const {
    cost_t most = std::max<cost_t>(0, reduced_.constant);
    for (const reduced_node& n : reduced_.nodes) {
        most = add_costs(most, std::max<cost_t>(0, *std::max_element(n.costs.begin(), n.costs.end())));
    }
    for (const reduced_edge& e : reduced_.edges) {
        cost_t largest = 0;
        for (const cost_t c : e.cells) {
            largest = c < forbidden ? std::max(largest, c) : largest;
        }
        most = add_costs(most, largest);
    }
    return most;
}

TESSERA_INLINE certified_search::judged certified_search::first_choice(price_ascent& ascent, const edge_lists& edges) {
    const auto rank = [](const standing& s) { return std::tuple(s.over, s.broken, s.cost); };
    judged first;
    climbs_ = ascent.run(o_.round_steps, [&](const std::vector<int>& choice) {
        const assignment a(reduced_, edges, choice);
        if (rank(a.now()) < rank(first.how)) {
            first.take(a);
        }
    });
    if (first.choice.empty()) { // no steps
        first.take(assignment(reduced_, edges, std::vector<int>(reduced_.nodes.size(), 0)));
    }
    return first;
}

TESSERA_INLINE void certified_search::run_round(int round, price_ascent& ascent, std::vector<improver>& lanes,
                                                const edge_lists& edges, judged& best) {
    const std::vector<double> prices = ascent.prices();
    const auto bound = static_cast<double>(ascent.certified());
    const bool anew = round % 4 == 0;
    std::vector<int> start; // of lanes that start anew: what the messages say when memory is a little dearer
    if (anew) {
        dual_ascent dearer = ascent.settled(2);
        dearer.decode_at(prices, 1.0 + 0.05 * (round / 4 % 5), start);
    }
    judged decoded;
    o_.threads.run(lanes.size() + 1, [&](std::size_t job) {
        if (job > 0) {
            improver& lane = lanes[job - 1];
            if (anew && job > 1) {
                lane.restart(start);
            }
            lane.run(o_.round_work, prices, bound, [&] { return stopped(); });
        } else if (climbs_ && !stopped()) {
            climbs_ = ascent.run(o_.round_steps, [&](const std::vector<int>& choice) {
                decoded.take_better(assignment(reduced_, edges, choice));
            });
        }
    });
    if (decoded.how < best.how) {
        best = std::move(decoded);
    }
    for (const improver& lane : lanes) {
        best.take_better(lane.now());
    }
    if (best.how < lanes.front().now().now()) {
        lanes.front().restart(best.choice);
    }
}

TESSERA_INLINE bool certified_search::finish(const split_graph& graph, const edge_lists& edges,
                                             const price_ascent& ascent, cost_t most, judged& best) {
    const dual_ascent dual = ascent.settled(20);
    std::vector<int> found;
    if (!exact_finish(reduced_, graph, edges, dual)
             .run(best.how.is_feasible() ? best.how.cost : most + 1, o_.finish_steps, found)) {
        return false;
    }
    if (!found.empty()) {
        best.take(assignment(reduced_, edges, found));
    }
    if (best.how.is_feasible()) {
        result_.bound = best.how.cost;
    } else {
        result_.state = status::infeasible;
    }
    return true;
}

TESSERA_INLINE void certified_search::offer(const std::vector<int>& choice) {
    std::vector<choice_t> all = reduced_.expand(choice);
    const evaluation_of_choice value = evaluate(p_, all);
    result_.least_peak = value.cost < forbidden ? value.peak : 0;
    if (value.fits(p_)) {
        result_.value = value;
        result_.choice = std::move(all);
    }
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE certified_result solve_certified(const choice_problem& p, const certified_options& options) {
    return detail::certified_search(p, options).run();
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
