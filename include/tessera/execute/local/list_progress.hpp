// SPDX-License-Identifier: Apache-2.0
// Where the lists of a plan stand in a run, and how the threads of other lists wait for them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/transfer_queue.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/task/compute.hpp"

#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Counters of finished tasks, one for each list: of this process, or in a group those of its page. It owns the former,
/// and neither lists nor tasks.
class list_progress {
public:
    /// `streams`: that have threads in a run. Throws tessera::error for more lists than a group has room for.
    list_progress(const plan& p, workers& threads, int streams);
    list_progress(const list_progress&) = delete;
    list_progress& operator=(const list_progress&) = delete;

    /// In a group: what messages call operators.
    void name_operators(const graph_view& g);

    /// Before a run, of which list l begins behind `first(l)` tasks.
    template <class First>
    void begin(const run_state& state, First&& first) {
        for (std::size_t l = 0; l < done_.size(); ++l) {
            if (group() == nullptr) {
                done_[l].value.store(first(l), std::memory_order_relaxed);
            } else if (group()->writes_for(plan_.device_of_list(static_cast<int>(l)))) { // nobody reads them any more
                done_[l].value.store(first(l), std::memory_order_relaxed);
                done_[l].size.store(static_cast<int>(plan_.order[l].size()), std::memory_order_relaxed);
            }
        }
        if (group() != nullptr) {
            meet_to_begin(state);
        }
    }

    list_counter& counter(int list) { return done_[to_size(list)]; }
    /// How many tasks of a list have finished; 0 when a device has failed: what wakes sleepers then is no progress.
    int finished(int list) const {
        const int count = done_[to_size(list)].value.load(std::memory_order_acquire);
        return threads_.failed() ? 0 : count;
    }
    /// Sets it, on the list's own thread. `awaited`: by a task of another list.
    void set_finished(list_counter& mine, int finished, bool awaited) const {
        if (sleeps_) {
            mine.value.store(finished); // in one order with `sleepers`, or a thread might fall asleep unseen
            if (awaited && mine.sleepers.load() > 0) { // a wake-up costs a thread more than a small task does
                mine.value.notify_all();
            }
        } else {
            mine.value.store(finished, std::memory_order_release);
        }
    }

    /// Waits until a list has finished so many tasks, or a device has failed.
    void await(int list, int count) {
        if (done_[to_size(list)].value.load(std::memory_order_acquire) < count) {
            group() == nullptr ? await_own(list, count) : await_others(list, count);
        }
    }
    /// Waits until a transfer has ended, or something has failed. A long wait is for a slow link: the core is free
    /// meanwhile.
    void await_transfer(const transfer_queue& queue, const transfer_queue::wait& w);
    /// After a failure: whoever sleeps looks again.
    void wake_all();

private:
    static constexpr index_t patience = 200'000;    ///< ns; a sleeper takes about 50,000 to wake
    static constexpr index_t long_wait = 2'000'000; ///< ns; for another process of the node: the core may be wanted

    process_group* group() const { return threads_.group(); }
    void meet_to_begin(const run_state& first);

    /// With two streams on too few cores a thread that waits lets others have its core and then sleeps, so that it is
    /// there at once, before a task that computes has ended, when it is woken.
    void await_own(int list, int count);
    /// In a group of processes, any of which may have ended.
    void await_others(int list, int count);
    /// What a list has still to do before another can go on, and where it stands.
    std::string standing(int list, int count) const;

    const plan& plan_;
    workers& threads_;
    std::vector<list_counter> own_done_;
    std::span<list_counter> done_;   ///< the own, or in a group of processes those of its page
    std::vector<std::string> names_; ///< of the operators, in a group of processes
    int spins_;
    bool sleeps_; ///< whoever waits
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/list_progress.inl"
#endif

#include "tessera/base/end_header.inl"
