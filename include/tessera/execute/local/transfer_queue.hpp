// SPDX-License-Identifier: Apache-2.0
// The queues of a plan: pushes to servers, their updates and pulls, on a thread of every server. What can go goes, the
// most urgent first, and what is left when a run's computation has ended goes on beside the next run's.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/execute/local/run_report.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/ranks/remote_writes_of_plan.hpp"
#include "tessera/plan/access.hpp"
#include "tessera/simulate/timeline.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

/// The tasks of a plan's queues. Runs are counted from 1. Every task's last finished run is known, so that tasks of
/// lists and of queues wait for this run's or the last one's.
class transfer_queue {
public:
    /// A task in a queue for which another waits: this run's, or that of the run before.
    struct wait {
        int item = 0;
        int runs_ago = 0;
    };
    /// A list's progress in the present run: `count(context, list)`.
    struct progress {
        int (*count)(const void* context, int list) = nullptr;
        const void* context = nullptr;
    };

    /// Waits that a plan's queues cause, for every task: what each waits for in its own run, and whose work of the run
    /// before it must not meet. `group`: the processes that share the plan, each with the queues of its own devices, or
    /// null. `remote writes`: what goes between nodes, where they are on several.
    explicit transfer_queue(const plan& p, progress lists, process_group* group = nullptr,
                            remote_writes_of_plan* writes = nullptr);
    ~transfer_queue();
    transfer_queue(const transfer_queue&) = delete;
    transfer_queue& operator=(const transfer_queue&) = delete;

    /// What all updates of a step of the plan wait for besides: the step's losses. Before start().
    void wait_for_losses(int step, const std::vector<wait_for>& losses) { losses_[to_size(step)] = losses; }

    bool is_empty() const { return tasks_.empty(); }
    /// What a task of a list waits for.
    const std::vector<wait>& waits_of(int task) const { return waits_[to_size(task)]; }
    runnable prepared(int task) const { return what_[to_size(item_of_[to_size(task)])]; }

    /// Starts the servers' threads, each of which first calls `ready(device)` and `prepare(task)` for each of its own;
    /// throws what these throw.
    template <class Ready, class Prepare>
    void start(Ready&& ready, Prepare&& prepare) {
        auto work = [&](server& s) {
            ready(s.device);
            for (const int i : s.items) {
                what_[to_size(i)] = prepare(tasks_[to_size(i)]);
            }
        };
        using body = decltype(work);
        for (const auto& s : servers_) {
            first_work_ = &work;
            first_call_ = [](void* w, server& mine) { (*static_cast<body*>(w))(mine); };
            s->owner = this;
            if (pthread_create(&s->thread, nullptr, &sit, s.get()) != 0) {
                throw error("tessera: the system has no thread for the transfers of device " +
                            std::to_string(s->device) + "; use fewer devices, or a policy without queues");
            }
            s->started = true;
            wait_until([&] { return s->prepared.load(std::memory_order_acquire); });
            rethrow();
        }
    }

    /// Begins a run: waits until the run before the last is over, and takes copies of the steps' states. `measured`
    /// gets the spans of tasks; it must live until finish() has returned. Rethrows what the runs before have thrown.
    void begin(const run_state* states, simulation::timeline* measured);
    /// Says that all lists have come to their ends in this run.
    void lists_are_done() { computed_.store(run_.load(std::memory_order_relaxed), std::memory_order_release); }
    /// True when what a task of a list waits for is finished, or a transfer has failed.
    bool is_done(const wait& w) const;
    bool failed() const { return failed_.load(std::memory_order_acquire) || (group_ != nullptr && group_->failed()); }

    /// Waits for all transfers of all runs, in all processes. Throws what one of them has thrown, once.
    void finish();
    /// Gives up what has not started: after a failure some of it can never run. Returns when no transfer is under way.
    void abandon();

private:
    /// One device's queue and the thread that serves it.
    struct server {
        int device = 0;
        std::vector<int> items; ///< most urgent first
        transfer_queue* owner = nullptr;
        pthread_t thread{};
        bool started = false;
        std::atomic<bool> prepared{false};
        std::atomic<std::uint64_t> finished{0}; ///< run
    };

    static void* sit(void* where);

    bool is_over(std::uint64_t run) const;

    void rethrow();
    void fail();

    /// What tasks touch of the same elements: a task of a queue, another task, and one of the two writes.
    void find_waits();

    void serve(server& mine);

    /// All transfers of one run.
    void left_over(server& mine, std::uint64_t run);

    void transfer(int item, std::uint64_t run);

    bool can_start(int item, std::uint64_t run) const;

    /// Looks often, then every now and then: what is waited for may be on a slow link.
    template <class Condition>
    static void wait_until(Condition&& over) {
        const index_t began = nanoseconds_now();
        for (int i = 0; !over(); ++i) {
            i < 200 ? detail::relax() : detail::nap(began); // a yield may last as long as a task that computes
        }
    }

    const plan& plan_;
    progress lists_;
    process_group* group_;
    remote_writes_of_plan* writes_;
    std::vector<int> item_of_; ///< by task
    std::vector<int> tasks_;   ///< by item
    std::vector<runnable> what_;
    std::vector<std::vector<wait>> waits_;      ///< by task
    std::vector<std::vector<wait_for>> losses_; ///< by step of the plan
    std::vector<std::atomic<std::uint64_t>> own_done_;
    void* shared_done_ = nullptr;                ///< of all processes
    std::span<std::atomic<std::uint64_t>> done_; ///< one of the two, by item: the last run in which it has finished
    void* shared_arrivals_ = nullptr;
    std::span<std::atomic<std::uint64_t>>
        arrivals_;                       ///< by remote_writes_of_plan::arrivals_of: the last run of which it has come
    std::uint64_t met_ = 0;              ///< the last run whose transfers all processes have finished
    std::vector<owned<server>> servers_; ///< of this process's devices
    std::vector<run_state> states_[2];   ///< of the present and the last run
    simulation::timeline* measured_[2] = {nullptr, nullptr};
    std::atomic<std::uint64_t> run_{0};
    std::atomic<std::uint64_t> computed_{0}; ///< the last run whose lists have come to their ends
    std::atomic<bool> stop_{false};
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> failed_{false};
    std::atomic<bool> claimed_{false};
    std::exception_ptr failure_;
    void* first_work_ = nullptr;
    void (*first_call_)(void*, server&) = nullptr;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/transfer_queue.inl"
#endif

#include "tessera/base/end_header.inl"
