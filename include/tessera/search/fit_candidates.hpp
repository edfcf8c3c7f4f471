// SPDX-License-Identifier: Apache-2.0
// The choices of fit() with their stages: cut in every way or balanced, estimated, and in the order in which they promise most.
#pragma once

#include "tessera/search/fit_estimate.hpp"

namespace tessera::search::detail {

/// A choice and what it is guessed to take.
struct fit_candidate {
    fit_choice how;
    fit_guess guess;
};

class fit_candidates {
public:
    std::vector<fit_candidate> all;
    std::vector<std::size_t> by_time;   ///< what seems to fit first, then the fastest first
    std::vector<std::size_t> by_memory; ///< what needs least first
    int seems_to_fit = 0;               ///< so many of the first by time

    /// `limit`: bytes of the device that has least; 0: none.
    fit_candidates(const graph_view& g, const cluster& on, index_t limit, const fit_options& o, fit_estimator& estimate)
        : g_(g), o_(o), estimate_(estimate), limit_(limit) {
        for (const fit_choice& x : fit_space(g, on.devices(), o)) {
            for (const std::vector<int>& stage : cuts_of(x)) {
                fit_choice y = x;
                y.stage = stage;
                const fit_guess guess = estimate(y);
                all.push_back({static_cast<fit_choice&&>(y), guess});
            }
        }
        by_time.resize(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            by_time[i] = i;
        }
        by_memory = by_time;
        // What seems not to fit comes last: its estimate may be wrong.
        order(by_time, [&](const fit_guess& x) { return std::pair{limit > 0 && x.bytes > limit, x.step}; });
        for (const fit_candidate& c : all) {
            seems_to_fit += limit == 0 || c.guess.bytes <= limit ? 1 : 0;
        }
        order(by_memory, [&](const fit_guess& x) { return std::pair{x.bytes, x.step}; });
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

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
/// gradients are synchronized otherwise.
inline std::vector<fit_choice> neighbours_of(const graph_view& g, const fit_choice& x, const fit_options& o) {
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
    bool shared = x.order.mirrors(); // parameters lie on several devices
    for (const int w : x.widths) {
        shared = shared || w > 1;
    }
    for (std::size_t k = 0; shared && k <= o.policies.size(); ++k) {
        const std::string name = k == 0 ? std::string() : o.policies[k - 1].name;
        if (name != x.policy) {
            near.push_back(x);
            near.back().policy = name;
        }
    }
    return near;
}

} // namespace tessera::search::detail
