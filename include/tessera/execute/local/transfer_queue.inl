// SPDX-License-Identifier: Apache-2.0
// Bodies of transfer_queue.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/transfer_queue.hpp"

namespace tessera {

TESSERA_INLINE transfer_queue::transfer_queue(const plan& p, progress lists, process_group* group,
                                              remote_writes_of_plan* writes)
    : plan_(p), lists_(lists), group_(group), writes_(writes), item_of_(p.tasks.size(), -1),
      losses_(to_size(p.steps_per_plan)) {
    for (int l = 2 * p.devices; l < p.lists(); ++l) {
        if (p.order[to_size(l)].empty()) {
            continue;
        }
        owned<server> made(new server);
        server& one = *made;
        for (const int t : p.order[to_size(l)]) {
            item_of_[to_size(t)] = static_cast<int>(tasks_.size());
            one.items.push_back(static_cast<int>(tasks_.size()));
            tasks_.push_back(t);
        }
        std::sort(one.items.begin(), one.items.end(), [&](int a, int b) { // in the plan's order where equally urgent
            const auto& x = plan_.tasks[to_size(tasks_[to_size(a)])].priority;
            const auto& y = plan_.tasks[to_size(tasks_[to_size(b)])].priority;
            return x < y || (!(y < x) && a < b);
        });
        one.device = p.device_of_list(l);
        if (group == nullptr || group->owns(one.device)) {
            servers_.push_back(std::move(made));
        }
    }
    if (group != nullptr && !tasks_.empty()) {
        shared_done_ =
            group->share(group->first_here(), static_cast<index_t>(tasks_.size() * sizeof(std::atomic<std::uint64_t>)));
        done_ = {static_cast<std::atomic<std::uint64_t>*>(shared_done_), tasks_.size()}; // zeros
    } else {
        own_done_ = std::vector<std::atomic<std::uint64_t>>(tasks_.size());
        done_ = own_done_;
    }
    if (writes_ != nullptr && !tasks_.empty()) {
        const std::size_t flags = writes_->arrivals() + 1;
        shared_arrivals_ =
            group->share(group->first_here(), static_cast<index_t>(flags * sizeof(std::atomic<std::uint64_t>)));
        arrivals_ = {static_cast<std::atomic<std::uint64_t>*>(shared_arrivals_), flags};
        writes_->signal(tasks_, group_->place_of(shared_done_), group_->place_of(shared_arrivals_), run_);
    }
    what_.resize(tasks_.size());
    find_waits();
    for (std::vector<run_state>& s : states_) {
        s.resize(to_size(p.steps_per_plan));
    }
}

TESSERA_INLINE transfer_queue::~transfer_queue() {
    wait_until([&] { return is_over(run_.load()); }); // whoever shares the parameters finds them updated
    stop_.store(true);
    run_.fetch_add(1);
    run_.notify_all();
    for (const auto& s : servers_) {
        if (s->started) {
            pthread_join(s->thread, nullptr);
        }
    }
    if (shared_arrivals_ != nullptr) {
        group_->unshare(shared_arrivals_);
    }
    if (shared_done_ != nullptr) {
        group_->unshare(shared_done_);
    }
}

TESSERA_INLINE void transfer_queue::begin(const run_state* states, simulation::timeline* measured) {
    rethrow();
    const std::uint64_t now = run_.load(std::memory_order_relaxed) + 1;
    wait_until([&] { return is_over(now >= 2 ? now - 2 : 0); });
    const std::size_t slot = now % 2;
    std::copy(states, states + plan_.steps_per_plan, states_[slot].begin());
    measured_[slot] = measured;
    abandoned_.store(false);
    run_.store(now, std::memory_order_release);
    run_.notify_all();
}

TESSERA_INLINE bool transfer_queue::is_done(const wait& w) const {
    const std::uint64_t wanted = run_.load(std::memory_order_relaxed) - static_cast<std::uint64_t>(w.runs_ago);
    return done_[to_size(w.item)].load(std::memory_order_acquire) >= wanted;
}

TESSERA_INLINE void transfer_queue::finish() {
    wait_until([&] { return is_over(run_.load()); });
    rethrow();
    if (group_ != nullptr && !is_empty() && met_ != run_.load()) {
        group_->barrier(barrier_point::finish_transfers);
        met_ = run_.load();
    }
}

TESSERA_INLINE void transfer_queue::abandon() {
    abandoned_.store(true);
    wait_until([&] { return is_over(run_.load()); });
}

TESSERA_INLINE void* transfer_queue::sit(void* where) {
    server& mine = *static_cast<server*>(where);
    mine.owner->serve(mine);
    return nullptr;
}

TESSERA_INLINE bool transfer_queue::is_over(std::uint64_t run) const {
    for (const auto& s : servers_) {
        if (s->started && s->finished.load(std::memory_order_acquire) < run) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE void transfer_queue::rethrow() {
    if (failed()) {
        abandon();
        if (!failure_) { // another process's
            group_->throw_failure();
        }
        const std::exception_ptr what = failure_;
        failure_ = nullptr;
        claimed_.store(false);
        failed_.store(false);
        std::rethrow_exception(what);
    }
}

TESSERA_INLINE void transfer_queue::fail() {
    if (!claimed_.exchange(true)) { // the first failure is the one that is told
        failure_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
        if (group_ != nullptr) {
            group_->fail(group_->name_of(group_->rank()) + " has failed in a transfer");
        }
    }
}

TESSERA_INLINE void transfer_queue::find_waits() {
    waits_.resize(plan_.tasks.size());
    if (tasks_.empty()) {
        return;
    }
    std::vector<std::vector<std::pair<int, access>>> queued(plan_.tiles.size()); // item, access
    std::vector<access> own;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        accesses_of(plan_, plan_.tasks[to_size(tasks_[i])], own);
        for (const access& a : own) {
            queued[to_size(a.tile)].push_back({static_cast<int>(i), a});
        }
    }
    for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
        const task& mine = plan_.tasks[t];
        const auto add = [&](int item, int runs_ago) {
            for (wait& w : waits_[t]) {
                if (w.item == item) {
                    w.runs_ago = std::min(w.runs_ago, runs_ago);
                    return;
                }
            }
            waits_[t].push_back({item, runs_ago});
        };
        for (const int a : mine.after) {
            add(item_of_[to_size(a)], 0);
        }
        accesses_of(plan_, mine, own);
        for (const access& a : own) {
            for (const auto& [item, b] : queued[to_size(a.tile)]) {
                if (item != item_of_[t] && conflict(a, b)) {
                    add(item, 1);
                }
            }
        }
    }
}

TESSERA_INLINE void transfer_queue::serve(server& mine) {
    try {
        first_call_(first_work_, mine);
    } catch (...) {
        fail();
    }
    mine.prepared.store(true, std::memory_order_release);
    for (std::uint64_t run = 1;; ++run) {
        for (int i = 0; run_.load(std::memory_order_acquire) < run; ++i) {
            i < 200 ? sched_yield() : (run_.wait(run - 1), 0);
        }
        if (stop_.load()) {
            return;
        }
        left_over(mine, run);
        mine.finished.store(run, std::memory_order_release);
    }
}

TESSERA_INLINE void transfer_queue::left_over(server& mine, std::uint64_t run) {
    std::vector<int> left = mine.items;
    while (!left.empty()) {
        std::size_t k = 0;
        const index_t began = group_ != nullptr ? nanoseconds_now() : 0;
        const auto find = [&] {
            k = 0;
            while (k < left.size() && !can_start(left[k], run)) {
                ++k;
            }
            if (k == left.size() && group_ != nullptr) {
                group_->look(began, -1, [&] {
                    return "what the transfers of device " + std::to_string(mine.device) + " wait for";
                });
            }
            return k < left.size() || abandoned_.load() || failed();
        };
        wait_until(find);
        if (abandoned_.load() || failed()) {
            k = left.size();
        }
        if (k == left.size()) { // nobody is to wait for what will not come
            for (const int i : left) {
                done_[to_size(i)].store(run, std::memory_order_release);
            }
            return;
        }
        transfer(left[k], run);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    }
}

TESSERA_INLINE void transfer_queue::transfer(int item, std::uint64_t run) {
    const task& t = plan_.tasks[to_size(tasks_[to_size(item)])];
    simulation::timeline* const measured = measured_[run % 2];
    const index_t start = measured != nullptr ? nanoseconds_now() : 0;
    const run_state& state = states_[run % 2][to_size(t.step)];
    try {
        if (state.report == nullptr || !state.report->refuses(state.step)) {
            what_[to_size(item)].call(what_[to_size(item)].context, state);
        }
    } catch (...) {
        fail();
    }
    if (measured != nullptr) {
        measured->tasks[to_size(tasks_[to_size(item)])] = {start - measured->begin,
                                                           nanoseconds_now() - measured->begin};
    }
    done_[to_size(item)].store(run, std::memory_order_release);
    if (writes_ != nullptr && writes_->after(tasks_[to_size(item)]) != nullptr) {
        writes_->after(tasks_[to_size(item)])->post(run, state);
    }
}

TESSERA_INLINE bool transfer_queue::can_start(int item, std::uint64_t run) const {
    const int t = tasks_[to_size(item)];
    if (writes_ != nullptr) { // what it reads may come after what else its tasks have told
        for (const std::size_t flag : writes_->arrivals_of(t)) {
            if (arrivals_[flag].load(std::memory_order_acquire) < run) {
                return false;
            }
        }
    }
    for (const wait& w : waits_[to_size(t)]) {
        if (done_[to_size(w.item)].load(std::memory_order_acquire) < run - static_cast<std::uint64_t>(w.runs_ago)) {
            return false;
        }
    }
    if (computed_.load(std::memory_order_acquire) >= run) { // the lists may be in the next run by now
        return true;
    }
    const auto are_done = [&](const std::vector<wait_for>& waits) {
        for (const wait_for& w : waits) {
            if (lists_.count(lists_.context, w.list) < w.count) {
                return false;
            }
        }
        return true;
    };
    return are_done(plan_.tasks[to_size(t)].waits) && are_done(losses_[to_size(plan_.tasks[to_size(t)].step)]);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
