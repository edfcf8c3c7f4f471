// SPDX-License-Identifier: Apache-2.0
// What is called for each task of a plan, prepared by a backend and in lists.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/execute/backend.hpp"
#include "tessera/execute/local/link_speed.hpp"
#include "tessera/execute/local/list_progress.hpp"
#include "tessera/execute/local/transfer_queue.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/loss_guard.hpp"
#include "tessera/execute/ranks/remote_writes_of_plan.hpp"

#include <vector>

namespace tessera {

/// The tasks of one plan with all that goes with them: what they wait for, which of them are guarded, the remote writes
/// and the queue. It owns these, not the plan, and does not run them: executor does.
template <RunsTasks B>
class task_lists {
public:
    static constexpr bool is_guarded = !queues_tasks<B>;

    struct entry {
        runnable what;
        const wait_for* waits = nullptr;
        int wait_count = 0;
        const transfer_queue::wait* queued = nullptr; ///< transfers that it waits for
        int queued_count = 0;
        const remote_writes_of_plan::bundle* writes = nullptr; ///< to other nodes, when it has finished
        int step = 0;
        int task = -1;
        guarded_role role = guarded_role::nothing;
        bool awaited = false; ///< by a task of another list
    };

    /// Over several nodes the waits of the plan become others.
    task_lists(B& backend, workers& threads, plan& p, const link_speed& links, int streams)
        : plan_(p), backend_(backend), threads_(threads), links_(links), streams_(streams), lists_(to_size(p.lists())) {
        if (is_over_nodes()) {
            traffic_ = traffic_between_nodes(p, group()->nodes_of_devices(plan_.devices), group()->nodes());
        }
    }
    task_lists(const task_lists&) = delete;
    task_lists& operator=(const task_lists&) = delete;

    /// Prepares all tasks, each on the thread that will run it, for memory that lies at `where`.
    void prepare(const graph_view& g, const addresses& where, const list_progress& progress) {
        load_plan(backend_, plan_, g, where);
        if constexpr (is_guarded) {
            guard_ = loss_guard(plan_, g, where);
        }
        if (is_over_nodes()) {
            writes_.write(plan_, where, traffic_, *group());
            for (int step = 0; step < plan_.steps_per_plan && is_guarded; ++step) {
                writes_.tell_all(plan_, guard_.losses(step));
            }
        }
        queue_ = owned<transfer_queue>(new transfer_queue(
            plan_,
            {[](const void* lists, int list) { return static_cast<const list_progress*>(lists)->finished(list); },
             &progress},
            group(), is_over_nodes() ? &writes_ : nullptr));
        const auto prepared = [&](int i) {
            const runnable what = backend_.prepare(plan_, i, g, where);
            const index_t way = links_.is_slow() ? links_.time_of(plan_, plan_.tasks[to_size(i)]) : 0;
            return way > 0 ? slowed_.after(way, what) : what;
        };
        if (queues_in_group()) {
            backend_.start(group()->first_device());
            for (int i = 0; i < static_cast<int>(plan_.tasks.size()); ++i) {
                queued_.push_back(backend_.prepare(plan_, i, g, where));
            }
            is_ready_ = true;
            return;
        }
        auto body = [&](int thread) {
            backend_.start(thread % threads_.devices());
            prepare_list(list_of_thread(thread), prepared);
        };
        threads_.run(body, streams_);
        for (int step = 0; step < plan_.steps_per_plan && is_guarded; ++step) {
            queue_->wait_for_losses(step, guard_.losses(step));
        }
        queue_->start([&](int device) { backend_.start(device); }, prepared);
        for (const task& t : plan_.tasks) {
            set_awaited(t.waits);
        }
        for (int step = 0; step < plan_.steps_per_plan && is_guarded; ++step) {
            set_awaited(guard_.losses(step));
        }
        is_ready_ = true;
    }
    /// Lets go of it: until prepare() it does not run.
    void unload(const addresses& where) {
        queue_ = owned<transfer_queue>(); // when its transfers are over
        unload_plan(backend_, where);
        for (auto& list : lists_) {
            list.clear();
        }
        queued_.clear();
        is_ready_ = false;
    }
    bool is_ready() const { return is_ready_; }

    const std::vector<entry>& operator[](int list) const { return lists_[to_size(list)]; }
    std::size_t size() const { return lists_.size(); }
    std::vector<std::size_t> sizes() const {
        std::vector<std::size_t> all;
        for (const auto& list : lists_) {
            all.push_back(list.size());
        }
        return all;
    }
    runnable prepared(int list, int position) const {
        if (plan_.is_queue(list)) {
            return queue_->prepared(plan_.order[to_size(list)][to_size(position)]);
        }
        return lists_[to_size(list)][to_size(position)].what;
    }
    /// Instead of the lists, in a group, of a backend that queues its tasks.
    const std::vector<runnable>& queued() const { return queued_; }
    bool queues_in_group() const { return !is_guarded && group() != nullptr; }
    /// A backend that queues its tasks orders them across processes by itself.
    bool is_over_nodes() const { return is_guarded && group() != nullptr && group()->nodes() > 1; }

    loss_guard& guard() { return guard_; }
    remote_writes_of_plan& writes() { return writes_; }
    /// Null while nothing is prepared.
    transfer_queue* queue() const { return queue_.get(); }

    /// -1: the plan has fewer devices than there are threads.
    int list_of_thread(int thread) const {
        const int device = threads_.first_device() + thread % threads_.devices();
        return device < plan_.devices ? device + thread / threads_.devices() * plan_.devices : -1;
    }

private:
    process_group* group() const { return threads_.group(); }

    template <class Prepare>
    void prepare_list(int list, const Prepare& prepared) {
        if (list < 0) {
            return;
        }
        for (int i : plan_.order[to_size(list)]) {
            const task& t = plan_.tasks[to_size(i)];
            const std::vector<transfer_queue::wait>& queued = queue_->waits_of(i);
            lists_[to_size(list)].push_back({prepared(i), t.waits.data(), static_cast<int>(t.waits.size()),
                                             queued.data(), static_cast<int>(queued.size()), writes_.after(i), t.step,
                                             i, is_guarded ? guard_.role(i) : guarded_role::nothing});
        }
    }

    void set_awaited(const std::vector<wait_for>& waits) {
        for (const wait_for& w : waits) {
            std::vector<entry>& all = lists_[to_size(w.list)];
            if (!all.empty()) { // else it is another process's
                all[to_size(w.count - 1)].awaited = true;
            }
        }
    }

    const plan& plan_;
    B& backend_;
    workers& threads_;
    link_speed links_;
    int streams_; ///< that have threads in a run
    loss_guard guard_;
    std::vector<std::vector<entry>> lists_;
    std::vector<runnable> queued_;
    node_traffic traffic_; ///< where the processes are on several nodes
    remote_writes_of_plan writes_;
    bool is_ready_ = false;
    detail::slowed_tasks slowed_;
    owned<transfer_queue> queue_; ///< last: of what is prepared
};

} // namespace tessera

#include "tessera/base/end_header.inl"
