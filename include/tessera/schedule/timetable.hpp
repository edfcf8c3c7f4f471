// SPDX-License-Identifier: Apache-2.0
// Walks a schedule: refuses one that is incomplete or that waits for itself, and says when every step happens if communication is free.
#pragma once

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/layout/pipeline_schedule.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::schedule {

/// Time units of every kind of step of one stage.
struct step_times {
    index_t forward = 1;
    index_t backward = 2;
    index_t backward_input = 1;
    index_t backward_weight = 1;
    index_t recompute = 1;

    constexpr index_t operator()(step_kind k) const {
        const index_t all[] = {forward, recompute, backward, backward_input, backward_weight};
        return all[static_cast<int>(k)];
    }
};

/// When every step of a schedule happens.
struct timetable {
    struct entry {
        step what;
        int worker = 0;
        index_t start = 0;
        index_t end = 0;
    };
    std::vector<entry>
        steps; ///< in order of (start, what is waited for first): an order in which one worker could do them all
    index_t makespan = 0;
    std::vector<index_t> busy; ///< of every worker
    std::vector<int>
        in_flight; ///< of every worker: most (stage, micro-batch) whose forward has begun and whose backward has not ended

    /// Idle time of a worker.
    index_t idle(int worker) const { return makespan - busy[static_cast<std::size_t>(worker)]; }
};

namespace detail {

inline std::string text_of(const step& s) {
    return std::string(to_text(s.what)) + " of stage " + std::to_string(s.stage) + ", micro-batch " +
           std::to_string(s.micro_batch);
}

/// Refuses times that a step cannot take.
inline void check_times(const step_times& times) {
    for (int k = 0; k < 5; ++k) {
        if (times(static_cast<step_kind>(k)) < 0) {
            throw error("tessera: a step " + std::string(to_text(static_cast<step_kind>(k))) + " takes " +
                        std::to_string(times(static_cast<step_kind>(k))) + "; times are at least 0");
        }
    }
}

/// Refuses what a timetable cannot be made of.
inline void check_timetable(const pipeline_schedule& s, const std::vector<step_times>& times,
                            const std::vector<std::vector<int>>& follows) {
    const auto stages = static_cast<std::size_t>(s.stages);
    bool fits = s.stages > 0 && s.micro_batches > 0 && (times.size() == 1 || times.size() == stages);
    fits = fits && follows.size() == stages;
    for (const std::vector<int>& list : follows) {
        for (const int i : list) {
            fits = fits && i >= 0 && i < s.stages;
        }
    }
    if (!fits) {
        throw error("tessera: no timetable of " + std::to_string(s.stages) + " stages and " +
                    std::to_string(s.micro_batches) + " micro-batches with times for " + std::to_string(times.size()) +
                    " and followers of " + std::to_string(follows.size()) +
                    " stages; give times for one or all of them, and for each those that follow it");
    }
    for (const step_times& t : times) {
        check_times(t);
    }
}

/// Walks the workers' lists. `follows` lists for every stage the stages that read its results.
class walker {
public:
    walker(const pipeline_schedule& s, const std::vector<std::vector<int>>& follows)
        : s_(s), follows_(follows), before_(at(s.stages)), end_(at(s.stages) * at(s.micro_batches) * kinds, -1),
          has_(end_.size(), 0) {
        for (int i = 0; i < s.stages; ++i) {
            for (int j : follows[at(i)]) {
                before_[at(j)].push_back(i);
            }
        }
    }

    /// Every stage and micro-batch goes forward once, then backward once, whole or in two, on one worker.
    void check() {
        std::vector<int> home(at(s_.stages) * at(s_.micro_batches), -1);
        for (std::size_t w = 0; w < s_.workers.size(); ++w) {
            for (const step& x : s_.workers[w]) {
                if (x.stage < 0 || x.stage >= s_.stages || x.micro_batch < 0 || x.micro_batch >= s_.micro_batches) {
                    refuse(x, "there is no such stage or micro-batch");
                }
                if (has_[slot(x)]++ != 0) {
                    refuse(x, "it comes twice");
                }
                int& mine = home[at(x.stage) * at(s_.micro_batches) + at(x.micro_batch)];
                mine = mine < 0 ? static_cast<int>(w) : mine;
                if (mine != static_cast<int>(w)) {
                    refuse(x, "another worker has the micro-batch's results of this stage");
                }
            }
        }
        for (int i = 0; i < s_.stages; ++i) {
            for (int m = 0; m < s_.micro_batches; ++m) {
                const bool whole = given(i, m, step_kind::backward);
                const bool input = given(i, m, step_kind::backward_input);
                const bool weight = given(i, m, step_kind::backward_weight);
                if (!given(i, m, step_kind::forward)) {
                    refuse({i, m, step_kind::forward}, "it is missing");
                }
                if (whole ? input || weight : !input || !weight) {
                    refuse({i, m, step_kind::backward}, "it must come once, whole or as input and weight");
                }
            }
        }
        if ((!s_.mirrored.empty() && s_.mirrored.size() != at(s_.micro_batches)) ||
            (!s_.keeps.empty() && s_.keeps.size() != at(s_.micro_batches))) {
            throw error("tessera: a schedule says for another number of micro-batches than it has which are mirrored "
                        "or keep their results");
        }
    }

    timetable run(const std::vector<step_times>& times) {
        timetable t;
        std::vector<std::size_t> next(s_.workers.size(), 0);
        std::vector<index_t> free(s_.workers.size(), 0);
        t.busy.assign(s_.workers.size(), 0);
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t w = 0; w < s_.workers.size(); ++w) {
                while (next[w] < s_.workers[w].size()) {
                    const step& x = s_.workers[w][next[w]];
                    const index_t ready = ready_at(x);
                    if (ready < 0) {
                        break;
                    }
                    const index_t start = std::max(ready, free[w]);
                    const index_t takes = times[at(times.size() > 1 ? x.stage : 0)](x.what);
                    free[w] = end_[slot(x)] = start + takes;
                    t.busy[w] += takes;
                    t.makespan = std::max(t.makespan, free[w]);
                    t.steps.push_back({x, static_cast<int>(w), start, free[w]});
                    ++next[w];
                    moved = true;
                }
            }
        }
        for (std::size_t w = 0; w < s_.workers.size(); ++w) {
            if (next[w] < s_.workers[w].size()) {
                refuse(s_.workers[w][next[w]], "a deadlock: it waits for itself through others");
            }
        }
        sort_by_start(t.steps);
        count_in_flight(t);
        return t;
    }

private:
    static constexpr std::size_t kinds = 5;
    template <class T>
    static std::size_t at(T i) {
        return static_cast<std::size_t>(i);
    }
    std::size_t slot(const step& x) const {
        return (at(x.stage) * at(s_.micro_batches) + at(x.micro_batch)) * kinds + static_cast<std::size_t>(x.what);
    }
    bool given(int stage, int m, step_kind k) const { return has_[slot({stage, m, k})] != 0; }

    [[noreturn]] void refuse(const step& x, const char* why) const {
        throw error("tessera: a schedule of " + std::to_string(s_.stages) + " stages and " +
                    std::to_string(s_.micro_batches) + " micro-batches is refused: " + why + " [" + text_of(x) + "]");
    }

    /// When all that a step needs has ended; -1: not known yet.
    index_t ready_at(const step& x) const {
        index_t ready = 0;
        const auto after = [&](const step& other) {
            const index_t end = end_[slot(other)];
            ready = ready < 0 || end < 0 ? -1 : std::max(ready, end);
        };
        const int m = x.micro_batch;
        if (x.what == step_kind::forward) {
            for (int i : before_[at(x.stage)]) {
                after({i, m, step_kind::forward});
            }
            return ready;
        }
        after({x.stage, m, step_kind::forward});
        if (x.what == step_kind::backward_weight) {
            after({x.stage, m, step_kind::backward_input});
        } else if (x.what != step_kind::recompute) {
            if (given(x.stage, m, step_kind::recompute)) {
                after({x.stage, m, step_kind::recompute});
            }
            for (int i : follows_[at(x.stage)]) {
                after({i, m, given(i, m, step_kind::backward) ? step_kind::backward : step_kind::backward_input});
            }
        }
        return ready;
    }

    /// Keeps the order of what starts at the same time (std::stable_sort has deprecated parts in some libraries).
    static void sort_by_start(std::vector<timetable::entry>& steps) {
        std::vector<std::pair<index_t, std::size_t>> order;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            order.emplace_back(steps[i].start, i);
        }
        std::sort(order.begin(), order.end());
        std::vector<timetable::entry> sorted;
        for (const auto& [start, i] : order) {
            sorted.push_back(steps[i]);
        }
        steps.swap(sorted);
    }

    void count_in_flight(timetable& t) const {
        t.in_flight.assign(s_.workers.size(), 0);
        std::vector<int> now(s_.workers.size(), 0);
        for (const timetable::entry& e : t.steps) { // a worker does one thing at a time, in this order
            int& n = now[at(e.worker)];
            n += e.what.what == step_kind::forward ? 1 : 0;
            t.in_flight[at(e.worker)] = std::max(t.in_flight[at(e.worker)], n);
            n -= e.what.what == step_kind::backward || e.what.what == step_kind::backward_weight ? 1 : 0;
        }
    }

    const pipeline_schedule& s_;
    const std::vector<std::vector<int>>& follows_;
    std::vector<std::vector<int>> before_;
    std::vector<index_t> end_;
    std::vector<char> has_;
};

} // namespace detail

/// Every stage is read by the next one.
inline std::vector<std::vector<int>> chain_of_stages(int stages) {
    std::vector<std::vector<int>> follows(static_cast<std::size_t>(std::max(stages, 0)));
    for (int i = 0; i + 1 < stages; ++i) {
        follows[static_cast<std::size_t>(i)].push_back(i + 1);
    }
    return follows;
}

/// The times of a schedule's steps, `times` for every stage or one for all. Throws tessera::error for a schedule that lacks a step, has one
/// twice, or waits for itself, for times that are negative or not as many; `follows` lists for every stage those that read its results.
inline timetable timetable_of(const pipeline_schedule& s, const std::vector<step_times>& times,
                              const std::vector<std::vector<int>>& follows) {
    detail::check_timetable(s, times, follows);
    detail::walker w(s, follows);
    w.check();
    return w.run(times);
}

inline timetable timetable_of(const pipeline_schedule& s, const step_times& times = {}) {
    return timetable_of(s, std::vector<step_times>{times}, chain_of_stages(s.stages));
}

} // namespace tessera::schedule
