// SPDX-License-Identifier: Apache-2.0
// Walks a schedule: refuses one that is incomplete or that waits for itself, and says when every action happens if
// communication is free.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/problem_text.hpp"
#include "tessera/strategy/schedule_rules.hpp"

#include <algorithm>
#include <utility>

namespace tessera::schedule {

/// Time units of every kind of action of one stage.
struct action_times {
    index_t forward = 1;
    index_t backward = 2;
    index_t backward_input = 1;
    index_t backward_weight = 1;
    index_t recompute = 1;

    constexpr index_t operator()(action_kind k) const {
        const index_t all[] = {forward, recompute, backward, backward_input, backward_weight};
        return all[static_cast<int>(k)];
    }
};

/// The rule that times break which no action can take.
constexpr problem check_times(const action_times& times) {
    for (int k = 0; k < 5; ++k) {
        const auto what = static_cast<action_kind>(k);
        if (times(what) < 0) {
            return tessera::detail::broken_action(rule::time_is_negative, {-1, -1, what}, times(what), 0);
        }
    }
    return {};
}

/// When every action of a schedule happens.
struct timetable {
    struct entry {
        action what;
        int worker = 0;
        index_t start = 0;
        index_t end = 0;
    };
    std::vector<entry>
        actions; ///< in order of (start, what is waited for first): an order in which one worker could do them all
    index_t makespan = 0;
    std::vector<index_t> busy; ///< of every worker
    std::vector<int>
        in_flight; ///< of every worker: most (stage, micro-batch) whose forward has begun and whose backward has not
                   ///< ended

    /// Idle time of a worker.
    index_t idle(int worker) const { return makespan - busy[to_size(worker)]; }
};

namespace detail {

/// Followers as the rules read them: forward, or turned round.
void fill_edges(tessera::detail::stage_edges& edges, const std::vector<std::vector<int>>& follows, bool back);

void count_in_flight(timetable& t, std::size_t workers);

} // namespace detail

/// Every stage is read by the next one.
std::vector<std::vector<int>> chain_of_stages(int stages);

/// The first rule that the times and followers of a sound schedule's stages break.
problem check_timetable(const pipeline_schedule& s, const std::vector<action_times>& times,
                        const std::vector<std::vector<int>>& follows);

/// The times of a schedule's actions, `times` for every stage or one for all. Throws tessera::error for a schedule that
/// lacks an action, has one twice, or waits for itself, for times that are negative or not as many; `follows` lists for
/// every stage those that read its results.
timetable timetable_of(const pipeline_schedule& s, const std::vector<action_times>& times,
                       const std::vector<std::vector<int>>& follows);

timetable timetable_of(const pipeline_schedule& s, const action_times& times = {});

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: the time units of every kind of action.
template <index_t Forward = 1, index_t Backward = 2, index_t BackwardInput = 1, index_t BackwardWeight = 1,
          index_t Recompute = 1>
struct action_takes {
    static constexpr schedule::action_times value{Forward, Backward, BackwardInput, BackwardWeight, Recompute};
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/timetable.inl"
#endif

#include "tessera/base/end_header.inl"
