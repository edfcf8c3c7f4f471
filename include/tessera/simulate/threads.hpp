// SPDX-License-Identifier: Apache-2.0
// Simulation of a bound plan on threads of one host: each walks its list as the executor does, waits where the plan
// says so, and takes longer where another presses on the memory that they share, or where there are fewer cores than
// threads at work.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/simulate/over_nodes.hpp"
#include "tessera/simulate/timeline.hpp"

#include <algorithm>
#include <string>

namespace tessera::simulation {

/// How long a task takes, in ns.
struct thread_time {
    index_t alone = 1;   ///< while the other devices rest
    index_t pressed = 1; ///< while another does nothing but stream through memory
    index_t away = 0;    ///< before that, while its thread waits for a slow link and leaves cores and memory to others
};

/// What an executor's run on threads costs besides its tasks, in ns.
struct thread_costs {
    index_t step = 0;      ///< around the run: inputs are checked, threads meet, losses are added
    index_t late = 0;      ///< until device 0 begins
    index_t hand_over = 0; ///< until the other devices begin
    index_t dispatch = 0;  ///< between two tasks
    index_t notice = 0;    ///< until a device that waits sees that it may go on
    /// How much longer, in thousandths, streaming through memory takes beside another that does: what a task adds to
    /// the time of others is in proportion to how much it suffers itself, at most this (after the bubbles of Mars et
    /// al., MICRO 2011).
    index_t pressure = 500;
    int cores = 0; ///< that the threads share; 0: one for each
};

namespace detail {

/// Threads at work: how much of their tasks is left, at the rates of the moment.
class thread_simulation {
public:
    thread_simulation(const plan& p, const std::vector<thread_time>& times, const thread_costs& costs,
                      writes_on_links* writes);

    timeline run();

private:
    struct thread {
        int finished = 0;
        int task = -1;       // at work on it, or waiting for its link
        index_t free = 0;    // when its last task ended
        index_t begin = -1;  // when the next one may start, as far as is known
        index_t away = 0;    // ns left until the task has come over its link
        index_t left = 0;    // of the task, in 1/1024 ns of its time alone
        index_t suffers = 0; // how much longer the task takes under full pressure, in 1/1024
        index_t slower = 0;  // how much longer it takes now, in 1/1024
        bool works() const { return task >= 0 && away == 0; }
    };

    /// Puts every thread that may start its next task to work on it, or notes when it may.
    void start_tasks();

    void start_task(std::size_t list, thread& x);

    /// When a thread may start a task, as far as what that waits for has ended; -1: it has not.
    index_t earliest(int which, const thread& x) const;

    /// Of a queue's tasks the one that goes next: of those that may start now the most urgent. If there is none, notes
    /// when the first may start.
    int most_urgent(std::size_t list, thread& x) const;

    /// Nanoseconds until a thread's task ends at the present rate.
    static index_t stretched(const thread& x) { return (x.left * (1024 + x.slower) / 1024 + 1023) / 1024; }

    void pass(index_t until);

    const plan& p_;
    const std::vector<thread_time>& times_;
    const thread_costs& costs_;
    writes_on_links* writes_; ///< or null
    std::vector<thread> threads_;
    timeline t_;
    index_t now_ = 0;
};

} // namespace detail

/// Simulates one run of a bound plan, its waits set, whose tasks take `times`. Throws tessera::error unless there is a
/// time for every task. `links`: of a plan whose devices are on several nodes; its makespan is when the last task has
/// ended and the last remote write has come.
timeline simulate(const plan& p, const std::vector<thread_time>& times, const thread_costs& costs,
                  const node_links* links = nullptr);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/threads.inl"
#endif

#include "tessera/base/end_header.inl"
