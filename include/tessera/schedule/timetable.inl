// SPDX-License-Identifier: Apache-2.0
// Bodies of timetable.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/timetable.hpp"

#include "tessera/base/stable_sort.hpp"

namespace tessera::schedule::detail {

TESSERA_INLINE void fill_edges(tessera::detail::stage_edges& edges, const std::vector<std::vector<int>>& follows,
                               bool back) {
    for (const bool counts : {true, false}) {
        for (std::size_t i = 0; i < follows.size(); ++i) {
            for (const int j : follows[i]) {
                const int own = static_cast<int>(i);
                counts ? edges.count(back ? j : own) : edges.add(back ? j : own, back ? own : j);
            }
        }
        if (counts) {
            edges.counted();
        }
    }
}

TESSERA_INLINE void count_in_flight(timetable& t, std::size_t workers) {
    t.in_flight.assign(workers, 0);
    std::vector<int> now(workers, 0);
    for (const timetable::entry& e : t.actions) { // a worker does one thing at a time, in this order
        const auto w = to_size(e.worker);
        now[w] += e.what.what == action_kind::forward ? 1 : 0;
        t.in_flight[w] = std::max(t.in_flight[w], now[w]);
        now[w] -= e.what.what == action_kind::backward || e.what.what == action_kind::backward_weight ? 1 : 0;
    }
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE std::vector<std::vector<int>> chain_of_stages(int stages) {
    std::vector<std::vector<int>> follows(to_size(std::max(stages, 0)));
    for (int i = 0; i + 1 < stages; ++i) {
        follows[to_size(i)].push_back(i + 1);
    }
    return follows;
}

TESSERA_INLINE problem check_timetable(const pipeline_schedule& s, const std::vector<action_times>& times,
                                       const std::vector<std::vector<int>>& follows) {
    const auto stages = to_size(s.stages);
    if (times.size() != 1 && times.size() != stages) {
        return {rule::times_for_other_stages, -1, -1, static_cast<index_t>(times.size()), s.stages};
    }
    if (follows.size() != stages) {
        return {rule::followers_of_other_stages, -1, -1, static_cast<index_t>(follows.size()), s.stages};
    }
    for (const std::vector<int>& list : follows) {
        for (const int i : list) {
            if (i < 0 || i >= s.stages) {
                return {rule::followers_of_other_stages, -1, -1, i, s.stages};
            }
        }
    }
    for (const action_times& t : times) {
        if (const problem p = check_times(t)) {
            return p;
        }
    }
    return {};
}

TESSERA_INLINE timetable timetable_of(const pipeline_schedule& s, const std::vector<action_times>& times,
                                      const std::vector<std::vector<int>>& follows) {
    tessera::detail::action_table given(s);
    require(given.fill());
    require(check_timetable(s, times, follows));
    int edges = 0;
    for (const std::vector<int>& list : follows) {
        edges += static_cast<int>(list.size());
    }
    tessera::detail::stage_edges after(s.stages, edges);
    tessera::detail::stage_edges before(s.stages, edges);
    detail::fill_edges(after, follows, false);
    detail::fill_edges(before, follows, true);
    timetable t;
    const std::size_t workers = s.workers.size();
    constexpr std::size_t kinds = 5;
    std::vector<index_t> end(given.size() * kinds, -1);
    std::vector<index_t> free(workers, 0);
    t.busy.assign(workers, 0);
    const auto end_of = [&](const action& x) -> index_t& {
        return end[given.slot(x.stage, x.micro_batch) * kinds + static_cast<std::size_t>(x.what)];
    };
    const auto take = [&](int worker, const action& x) {
        const auto w = to_size(worker);
        index_t start = free[w];
        tessera::detail::for_each_needed(given, after, before, x,
                                         [&](const action& other) { start = std::max(start, end_of(other)); });
        const index_t takes = times[times.size() > 1 ? to_size(x.stage) : 0](x.what);
        free[w] = end_of(x) = start + takes;
        t.busy[w] += takes;
        t.makespan = std::max(t.makespan, free[w]);
        t.actions.push_back({x, worker, start, free[w]});
    };
    require(tessera::detail::walk(s, given, after, before, take));
    tessera::detail::stable_sort(
        t.actions, [](const timetable::entry& a, const timetable::entry& b) { return a.start < b.start; });
    detail::count_in_flight(t, workers);
    return t;
}

TESSERA_INLINE timetable timetable_of(const pipeline_schedule& s, const action_times& times) {
    return timetable_of(s, std::vector<action_times>{times}, chain_of_stages(s.stages));
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
