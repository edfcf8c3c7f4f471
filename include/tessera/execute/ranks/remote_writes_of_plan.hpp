// SPDX-License-Identifier: Apache-2.0
// The remote writes that a process sends while it runs a plan over several nodes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
#include "tessera/plan/between_nodes.hpp"
#include "tessera/task/compute.hpp"

#include <atomic>
#include <vector>

namespace tessera {

/// Remote writes by the task after which they go. Of a long message only the last remote write says that it has come.
class remote_writes_of_plan {
public:
    /// The remote writes after one task.
    class bundle {
    public:
        /// `finished`: of a list's task how many of them have finished; of a queue's the number of the run.
        void post(std::uint64_t finished, const run_state& state) const;

        std::vector<remote_write> writes;
        process_group* group = nullptr;
        const std::atomic<std::uint64_t>* run = nullptr; ///< the number of the present run; null: `finished` is it
    };

    remote_writes_of_plan() = default;
    remote_writes_of_plan(const remote_writes_of_plan&) = delete;
    remote_writes_of_plan& operator=(const remote_writes_of_plan&) = delete;
    ~remote_writes_of_plan() {
        if (group_ != nullptr) {
            group_->withdraw();
        }
    }

    /// Writes those of this process's tasks. `traffic` is that of the plan, whose tiles lie where `where` says.
    void write(const plan& p, const addresses& where, const node_traffic& traffic, process_group& group);
    /// All nodes wait for these points.
    void tell_all(const plan& p, const std::vector<wait_for>& points);
    /// Where the queue keeps which of its items, and what for them alone, has come; `items`: its tasks. `run` has the
    /// number of the present run.
    void signal(const std::vector<int>& items, shared_place done, shared_place arrivals,
                const std::atomic<std::uint64_t>& run);

    /// The remote writes after a task of this process, or null.
    const bundle* after(int task) const;
    /// Of a queued task: the flags that say that what it reads has come.
    const std::vector<std::size_t>& arrivals_of(int task) const { return arrivals_of_[to_size(task)]; }
    std::size_t arrivals() const { return arrivals_; }
    /// Sends what persistent tiles hold.
    void post_before() const;

private:
    void add(const plan& p, const addresses& where, const node_traffic::message& m, bundle& to) const;
    static void says_done(const plan& p, int task, remote_write& l);

    /// That a list's task of this process has finished is told to a node.
    void tell(const plan& p, int i, int node);

    process_group* group_ = nullptr;
    std::vector<bundle> after_; ///< by task
    std::vector<remote_write> before_;
    std::vector<std::vector<std::size_t>> arrivals_of_; ///< by task
    std::size_t arrivals_ = 0;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/remote_writes_of_plan.inl"
#endif

#include "tessera/base/end_header.inl"
