// SPDX-License-Identifier: Apache-2.0
// A list of calls on its GPUs. Each device's thread issues the calls of its own tasks; streams and events do the rest.
// In a group of processes each issues the calls of its own GPUs, all tasks from one thread: what a call waits for is on
// its own GPU, and between GPUs NCCL waits.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/print.hpp"
#include "tessera/backend/cuda/issue/communicators.hpp"
#include "tessera/backend/cuda/issue/prepare.hpp"

#include <atomic>
#include <optional>
#include <sched.h>

namespace tessera::cuda {

/// What a program is made of besides its calls.
struct program_setting {
    gpu_numbers numbers;                 ///< of the list's GPUs
    std::vector<cudaStream_t> streams;   ///< as many as the list has, null for those of other processes
    std::vector<std::string> task_names; ///< for errors
    bool checks = false; ///< wait after each call, so that an error of the GPU is found where it happens
};

class program {
public:
    /// `tools`: of every device of the plan.
    program(call_list list, const addresses& where, program_setting setting, const std::vector<device_tools>& tools,
            communicator_table& communicators);
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    const call_list& list() const { return list_; }
    const addresses* where() const { return where_; }
    const std::vector<cudaStream_t>& streams() const { return streams_; }

    /// Readies the calls of a task, as far as they are this process's; alone, on the thread of its device, whose GPU is
    /// current.
    runnable prepare(int task, int device);

    // ---- graphs -----------------------------------------------------------------------------------------------------

    /// Whether a graph may hold the list: it stays on one GPU, and its calls have run once, so that libraries have
    /// loaded what they need.
    bool can_capture() const;

    /// Replays the list as a graph, captured at first use, in place of the tasks' own calls until the next begin().
    /// Without the threads: the first stream takes it all.
    void replay(const run_state& run);

    /// Milliseconds that every call takes on its GPU, alone, the mean of `repeats`; -1 for NCCL calls. What the calls
    /// leave in memory means nothing afterwards.
    std::vector<double> time_calls(const run_state& run, int repeats);

    /// Before a run of tasks [first, last).
    void begin(int first, int last);

private:
    /// Of a device that waited for one that failed.
    struct stopped : error {
        using error::error;
    };
    struct task_place {
        program* owner = nullptr;
        int task = 0;
        int device = 0;
    };

    bool owns(const call& c) const { return setting_.numbers.owns(list_.streams[to_size(c.stream)].gpu); }
    /// Of this process's, as it counts.
    int gpu_of(const call& c) const { return setting_.numbers.local(list_.streams[to_size(c.stream)].gpu); }

    void issue_task(const task_place& t, const run_state& run);

    /// Streams join the capture of the first one by waiting for it, and end it by being waited for.
    void capture(const run_state& run);

    // ---- errors -----------------------------------------------------------------------------------------------------

    /// An error of call `i`, with the names of call and task behind it.
    template <class Issue>
    void guarded(int i, Issue&& issue) {
        try {
            issue();
        } catch (const stopped&) {
            throw;
        } catch (const error& e) {
            const call& c = list_.calls[to_size(i)];
            throw error(std::string(e.what()) + "; in call " + std::to_string(i) + ", " + function_of(c) + " " +
                        std::visit(detail::size_text(), c.body) + ", of task " + std::to_string(c.task) + ", " +
                        setting_.task_names[to_size(c.task)] + ", on " +
                        setting_.numbers.name(list_.streams[to_size(c.stream)].gpu));
        }
    }
    void wait_if_checking(int i);

    void wait_for_others(int i);

    void record(int i);

    /// Groups go out one after the other, in the order of the list, on all communicators: every GPU sees one order.
    void issue_group(int first, int last, int group);

    void issue_members(const std::vector<int>& own);

    static ncclDataType_t nccl_type(element e);

    void issue_member(const call& c);

    template <class Condition>
    void spin(Condition&& done) const {
        while (!done()) {
            if (failed_.load(std::memory_order_relaxed)) {
                throw stopped("tessera: another device failed");
            }
            sched_yield();
        }
    }

    call_list list_;
    const addresses* where_;
    program_setting setting_;
    const std::vector<cudaStream_t>& streams_; ///< of the setting
    const std::vector<device_tools>& tools_;
    const communicator_table& communicators_;
    std::vector<const std::vector<communicator_handle>*> members_;
    std::vector<std::unique_ptr<prepared_call>> prepared_;
    std::vector<event_handle> events_;
    std::vector<std::atomic<std::uint64_t>> issued_; ///< run in which a call's event was last recorded
    std::vector<task_place> tasks_;
    std::uint64_t run_ = 0;
    int first_task_ = 0;
    int whole_runs_ = 0;   ///< that have ended
    bool replays_ = false; ///< the run that is under way is a graph's
    graph_handle graph_;
    graph_run_handle graph_run_;
    std::vector<int> own_of_group_; ///< calls of the group that is issued
    std::atomic<int> next_group_{0};
    std::atomic<bool> failed_{false};
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/program.inl"
#endif

#include "tessera/base/end_header.inl"
