// SPDX-License-Identifier: Apache-2.0
// Bodies of candidates.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/candidates.hpp"

#include <utility>

namespace tessera::search::detail {

TESSERA_INLINE fit_candidates::fit_candidates(const graph_view& g, const cluster& on, index_t limit, bool serial,
                                              const fit_options& o, fit_estimator& estimate, function_ref<bool()> go_on)
    : g_(g), o_(o), estimate_(estimate), limit_(limit) {
    for (const fit_choice& x : fit_space(g, on.devices(), o)) {
        if (!go_on()) {
            break;
        }
        for (const std::vector<int>& stage : cuts_of(x)) {
            fit_choice y = x;
            y.stage = stage;
            const fit_estimator::computation computed = estimate.computation_of(y);
            for (const auto& [policy, overlap] : exchanges_of(x, o, serial)) {
                y.policy = policy;
                y.overlap = overlap;
                all.push_back({bases.size(), policy, overlap, estimate(y, computed)});
            }
            bases.push_back(std::move(y));
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

TESSERA_INLINE fit_choice fit_candidates::choice(std::size_t i) const {
    fit_choice x = bases[all[i].base];
    x.policy = all[i].policy;
    x.overlap = all[i].overlap;
    return x;
}

TESSERA_INLINE std::vector<std::vector<int>> fit_candidates::cuts_of(const fit_choice& x) {
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
        const int flight = order.again == schedule::rematerialize::none ? in_flight[to_size(home[to_size(s)])] : 1;
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

TESSERA_INLINE bool fills_all(const std::vector<int>& stage, int stages) {
    std::vector<char> filled(to_size(stages), 0);
    int count = 0;
    for (const int s : stage) {
        count += filled[to_size(s)]++ == 0 ? 1 : 0;
    }
    return count == stages;
}

TESSERA_INLINE std::vector<fit_choice> neighbours_of(const graph_view& g, const fit_choice& x, const fit_options& o,
                                                     bool serial) {
    std::vector<fit_choice> near;
    for (int op = 1; op < g.op_count; ++op) {
        const int before = x.stage[to_size(op) - 1];
        const int own = x.stage[to_size(op)];
        if (before == own) {
            continue;
        }
        for (const bool earlier : {true, false}) {
            fit_choice y = x;
            y.stage[earlier ? to_size(op) - 1 : to_size(op)] = earlier ? own : before;
            if (fills_all(y.stage, x.order.stages())) {
                near.push_back(std::move(y));
            }
        }
    }
    const std::vector<int> home = fit_estimator::homes_of(x);
    for (std::size_t s = 0; s < x.inside.size(); ++s) {
        for (const baseline inside : o.inside) {
            if (inside != x.inside[s] && x.widths[to_size(home[s])] > 1 &&
                has_samples(g, x.order.micro_batches, x.widths[to_size(home[s])], inside)) {
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
    for (const auto& [policy, overlap] : exchanges_of(x, o, serial)) {
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
