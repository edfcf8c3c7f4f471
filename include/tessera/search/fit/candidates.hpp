// SPDX-License-Identifier: Apache-2.0
// The choices of fit() with their stages: cut in every way or balanced, estimated, and in the order in which they promise most.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/estimate.hpp"

namespace tessera::search::detail {

/// A choice and what it is guessed to take.
struct fit_candidate {
    fit_choice how;
    fit_guess guess;
};

class fit_candidates {
public:
    /// A choice without its way to exchange, and that way.
    struct candidate {
        std::size_t base = 0;
        const schedule::policy_record* policy = nullptr;
        bool overlap = false;
        fit_guess guess;
    };
    std::vector<fit_choice> bases;
    std::vector<candidate> all;
    std::vector<std::size_t> by_time;   ///< the best of each base first, of these what seems to fit, then the fastest
    std::vector<std::size_t> by_memory; ///< what needs least first
    int seems_to_fit = 0;               ///< so many of the first by time

    /// `limit`: bytes of the device that has least; 0: none. Where `go_on` says no, those so far are all.
    fit_candidates(const graph_view& g, const cluster& on, index_t limit, bool in_turn, const fit_options& o,
                   fit_estimator& estimate, function_ref<bool()> go_on)
        : g_(g), o_(o), estimate_(estimate), limit_(limit) {
        for (const fit_choice& x : fit_space(g, on.devices(), o)) {
            if (!go_on()) {
                break;
            }
            for (const std::vector<int>& stage : cuts_of(x)) {
                fit_choice y = x;
                y.stage = stage;
                const fit_estimator::computation computed = estimate.computation_of(y);
                for (const auto& [policy, overlap] : exchanges_of(x, o, in_turn)) {
                    y.policy = policy;
                    y.overlap = overlap;
                    all.push_back({bases.size(), policy, overlap, estimate(y, computed)});
                }
                bases.push_back(static_cast<fit_choice&&>(y));
            }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            by_memory.push_back(i);
        }
        // What seems not to fit comes last: its estimate may be wrong.
        std::vector<std::size_t> by_step = by_memory;
        order(by_step, [&](const fit_guess& x) { return std::pair{too_large(x), x.step}; });
        std::vector<std::size_t> others;
        std::vector<char> seen(bases.size(), 0);
        for (const std::size_t i : by_step) {
            const bool first = seen[all[i].base]++ == 0;
            seems_to_fit += first && !too_large(all[i].guess) ? 1 : 0;
            (first ? by_time : others).push_back(i);
        }
        by_time.insert(by_time.end(), others.begin(), others.end());
        order(by_memory, [&](const fit_guess& x) { return std::pair{x.bytes, x.step}; });
    }

    fit_choice choice(std::size_t i) const {
        fit_choice x = bases[all[i].base];
        x.policy = all[i].policy;
        x.overlap = all[i].overlap;
        return x;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    bool too_large(const fit_guess& x) const { return limit_ > 0 && x.bytes > limit_; }

    template <class Key>
    void order(std::vector<std::size_t>& list, const Key& key) const {
        std::sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
            const auto x = key(all[a].guess);
            const auto y = key(all[b].guess);
            return x != y ? x < y : a < b;
        });
    }

    /// All cuts where they are few; otherwise the fastest within memory, the fastest at all, and the one that needs least.
    std::vector<std::vector<int>> cuts_of(const fit_choice& x) {
        std::vector<std::vector<int>> cuts;
        const int stages = x.order.stages();
        if (every_cut(g_.op_count, stages, o_.every_cut, [&](const std::vector<int>& c) { cuts.push_back(c); })) {
            return cuts;
        }
        const schedule::settings& order = x.order;
        std::vector<int> in_flight;
        for (const auto& [known, flights] : flights_) {
            in_flight = known == order ? flights : in_flight;
        }
        if (in_flight.empty()) {
            in_flight = schedule::timetable_of(schedule::make(order)).in_flight;
            flights_.emplace_back(order, in_flight);
        }
        const std::vector<int> home = fit_estimator::homes_of(x);
        const int each = stages / order.workers * (order.mirrors() ? 2 : 1); // stages of a worker
        std::vector<schedule::stage_room> rooms;
        for (int s = 0; s < stages; ++s) {
            const int flight = order.again == schedule::rematerialize::none ? in_flight[at(home[at(s)])] : 1;
            rooms.push_back({limit_ / each, std::max(1, flight * (order.mirrors() ? 2 : 1) / each), 1, 1});
        }
        const std::vector<schedule::operator_load> loads = estimate_.loads_of(x);
        const schedule::balanced_stages found = schedule::balance_stages(loads, rooms);
        for (schedule::stage_room& r : rooms) {
            r.bytes = 0;
        }
        const std::vector<int> fastest = limit_ > 0 ? schedule::balance_stages(loads, rooms).stage : found.stage;
        for (const std::vector<int>& c : {found.stage, fastest, found.leanest}) {
            if (!c.empty() && std::find(cuts.begin(), cuts.end(), c) == cuts.end()) {
                cuts.push_back(c);
            }
        }
        return cuts;
    }

    graph_view g_;
    const fit_options& o_;
    fit_estimator& estimate_;
    index_t limit_;
    std::vector<std::pair<schedule::settings, std::vector<int>>>
        flights_; ///< most in flight on every worker, by schedule
};

/// True where no stage is empty.
inline bool fills_all(const std::vector<int>& stage, int stages) {
    std::vector<char> filled(static_cast<std::size_t>(stages), 0);
    int count = 0;
    for (const int s : stage) {
        count += filled[static_cast<std::size_t>(s)]++ == 0 ? 1 : 0;
    }
    return count == stages;
}

/// Neighbours of a choice: one stage begins an operator earlier or later, or is split otherwise; a worker gives a device to another;
/// what devices share is exchanged otherwise.
inline std::vector<fit_choice> neighbours_of(const graph_view& g, const fit_choice& x, const fit_options& o,
                                             bool in_turn) {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    std::vector<fit_choice> near;
    for (int op = 1; op < g.op_count; ++op) {
        const int before = x.stage[at(op) - 1];
        const int own = x.stage[at(op)];
        if (before == own) {
            continue;
        }
        for (const bool earlier : {true, false}) {
            fit_choice y = x;
            y.stage[earlier ? at(op) - 1 : at(op)] = earlier ? own : before;
            if (fills_all(y.stage, x.order.stages())) {
                near.push_back(static_cast<fit_choice&&>(y));
            }
        }
    }
    const std::vector<int> home = fit_estimator::homes_of(x);
    for (std::size_t s = 0; s < x.inside.size(); ++s) {
        for (const baseline inside : o.inside) {
            if (inside != x.inside[s] && x.widths[at(home[s])] > 1 &&
                has_samples(g, x.order.micro_batches, x.widths[at(home[s])], inside)) {
                near.push_back(x);
                near.back().inside[s] = inside;
            }
        }
    }
    for (std::size_t from = 0; from < x.widths.size() && !x.order.mirrors(); ++from) {
        for (std::size_t to = 0; to < x.widths.size(); ++to) {
            if (from != to && x.widths[from] > 1 &&
                has_samples(g, x.order.micro_batches, x.widths[to] + 1, baseline::data_parallel)) {
                near.push_back(x);
                --near.back().widths[from];
                ++near.back().widths[to];
            }
        }
    }
    for (const auto& [policy, overlap] : exchanges_of(x, o, in_turn)) {
        if (policy != x.policy || overlap != x.overlap) {
            near.push_back(x);
            near.back().policy = policy;
            near.back().overlap = overlap;
        }
    }
    return near;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
