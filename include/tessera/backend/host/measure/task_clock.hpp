// SPDX-License-Identifier: Apache-2.0
// Times of the tasks of bound plans on this machine: each kind of task is run by itself, through the very calls that
// the executor makes, with its operands in the levels of the caches where the plan will have them, and remembered in
// the profile.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/backend.hpp"
#include "tessera/backend/host/measure/task_name.hpp"
#include "tessera/plan/isolate.hpp"
#include "tessera/simulate/threads.hpp"

#include <cmath>

namespace tessera::host {

/// A plan's tasks for the simulation on threads.
struct plan_times {
    std::vector<simulation::thread_time> tasks;
    int unknown = 0; ///< tasks that nobody has measured; their times are 1 ns
};

struct clock_options {
    int rounds = 9;             ///< in which every kind of task is run once; the lower quartile counts
    index_t memory = 512 << 20; ///< bytes of operands that are held at the same time
    bool of_processor = false;  ///< seconds of the processor, not of the clock: on a machine that others use too
};

namespace detail {

/// Touches memory without changing it, a cache line at a time.
void touch(std::byte* from, index_t bytes, bool write);

/// Where devices meet in the middle of a run.
class spin_barrier {
public:
    explicit spin_barrier(int members) : members_(members) {}
    void operator()(int spins);

private:
    int members_;
    std::atomic<int> arrived_{0};
};

/// Memory to fill caches with, one for each of two devices.
class sweep {
public:
    explicit sweep(index_t bytes) : memory_(bytes), bytes_(bytes) {}
    /// Dirties the next bytes, which evict others.
    void pollute(index_t bytes);
    /// Copies a chunk of one half to the other: what presses on memory most.
    void stream();

private:
    buffer memory_;
    index_t bytes_;
    index_t at_ = 0;
    index_t copied_ = 0;
};

} // namespace detail

/// Measures what a profile does not know yet.
class task_clock {
public:
    /// Of a group of processes each measures, and the longest time counts; all call it.
    /// Uses two of the devices: one runs the task, the other leaves operands behind, or presses on memory. The backend
    /// keeps the profile.
    task_clock(backend& b, workers& threads, const clock_options& o = {})
        : backend_(b), threads_(threads), options_(o), pair_(threads.devices() > 1 ? 2 : 1) {}

    /// Measures every kind of task of a bound and finished plan that the profile does not have; returns how many.
    int learn(const plan& p, const graph_view& g) { return learn({&p}, g); }
    /// The same of several plans of one network: their kinds of tasks take turns, so that all meet the same moments of
    /// the machine.
    int learn(const std::vector<const plan*>& plans, const graph_view& g);

    /// What the profile knows of a plan's tasks.
    plan_times times(const plan& p, const graph_view& g) const;

    /// The name under which a task of a bound plan is remembered.
    std::string name_of(const plan& p, int index, const graph_view& g,
                        const std::vector<simulation::reuse>& where) const;

private:
    static constexpr const char* pressed_suffix = " pressed";

    struct experiment {
        experiment(std::string called, plan isolated, const std::vector<simulation::reuse>& where);

        std::string name;
        plan alone;
        parameter_store store;
        addresses memory;
        std::vector<residence> found;
        std::vector<simulation::reuse> reuses;
        struct range {
            std::byte* begin = nullptr;
            index_t bytes = 0;
        };
        std::vector<range> ranges; ///< of the accesses
        std::vector<buffer> inputs;
        std::vector<const void*> input_pointers;
        runnable what;
        index_t bytes = 0;
        std::vector<double> seconds[2]; ///< alone, pressed
    };

    static index_t bytes_of_access(const plan& p, const access& a);
    static std::vector<residence> residences(const plan& p, const std::vector<simulation::reuse>& where);

    void prepare(experiment& e, const graph_view& g);

    /// Small numbers, integers within their range.
    static void fill(std::byte* where, index_t bytes, const tile& x, const graph_view& g);

    /// Whether another device at work on memory can slow the task down.
    static bool is_exposed(const experiment& e);

    static bool is_far(const experiment& e);

    /// All experiments in turns, so that a slow moment meets all, and each finds the caches of instructions as others
    /// left them.
    void run(std::vector<owned<experiment>>& list);

    /// The lower quartile: what the machine does while others that it is shared with leave it alone. Such moments are
    /// long beside a task, so that the quartiles of a step's tasks add up to that of the step.
    static double typical(std::vector<double> x);

    /// Seconds, of those that count.
    double now() const;
    double clock_overhead() const;

    /// Brings every operand to its level, nearest last, then runs the task, beside a device that streams through memory
    /// if `pressed`.
    double run_once(experiment& e, bool pressed);

    backend& backend_;
    workers& threads_;
    clock_options options_;
    int pair_;
    detail::sweep sweeps_[2] = {detail::sweep(128 << 20), detail::sweep(128 << 20)};
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/measure/task_clock.inl"
#endif

#include "tessera/base/end_header.inl"
