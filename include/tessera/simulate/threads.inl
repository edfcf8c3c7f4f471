// SPDX-License-Identifier: Apache-2.0
// Bodies of threads.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/threads.hpp"

#include <utility>

namespace tessera::simulation::detail {

TESSERA_INLINE thread_simulation::thread_simulation(const plan& p, const std::vector<thread_time>& times,
                                                    const thread_costs& costs, writes_on_links* writes)
    : p_(p), times_(times), costs_(costs), writes_(writes), threads_(to_size(p.lists())) {
    t_.tasks.resize(p.tasks.size());
    t_.device_busy.assign(to_size(p.devices), 0);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        threads_[i].free = i == 0 ? costs.late : costs.hand_over;
    }
}

TESSERA_INLINE timeline thread_simulation::run() {
    for (;;) {
        start_tasks();
        index_t next = -1; // the first moment at which anything changes
        for (const thread& x : threads_) {
            if (x.task >= 0) {
                const index_t end = now_ + (x.away > 0 ? x.away : std::max<index_t>(1, stretched(x)));
                next = next < 0 || end < next ? end : next;
            } else if (x.begin > now_) {
                next = next < 0 || x.begin < next ? x.begin : next;
            }
        }
        if (const index_t come = writes_ != nullptr ? writes_->next(now_) : -1; come >= 0) {
            next = next < 0 || come < next ? come : next;
        }
        if (next < 0) {
            break;
        }
        pass(next);
    }
    std::size_t done = 0;
    for (const thread& x : threads_) {
        done += to_size(x.finished);
        t_.makespan = std::max(t_.makespan, x.free);
    }
    t_.makespan = std::max(t_.makespan, writes_ != nullptr ? writes_->last() : 0);
    if (done != p_.tasks.size()) {
        throw error("tessera: " + std::to_string(p_.tasks.size() - done) + " of " + std::to_string(p_.tasks.size()) +
                    " tasks wait for each other; a plan that verify() accepts has no such circle");
    }
    t_.makespan += costs_.step;
    for (std::size_t d = 0; d < p_.arena_bytes.size(); ++d) {
        t_.peak_bytes.push_back(p_.arena_bytes[d] + p_.persistent_bytes[d]);
    }
    return std::move(t_);
}

TESSERA_INLINE void thread_simulation::start_tasks() {
    index_t busy = writes_ != nullptr ? writes_->load() : 0; // cores, in 1/1024
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        thread& x = threads_[i];
        start_task(i, x);
        busy += x.works() ? 1024 : 0;
    }
    for (thread& x : threads_) { // who works now presses on the others
        index_t pressure = 0;
        for (const thread& other : threads_) {
            if (&other != &x && other.works()) {
                pressure += std::min<index_t>(1024, other.suffers * 1000 / std::max<index_t>(1, costs_.pressure));
            }
        }
        x.slower = x.suffers * pressure / 1024;
        if (const index_t cores = index_t{1024} * costs_.cores;
            cores > 0 && busy > cores) { // which take turns on the cores
            x.slower = (1024 + x.slower) * busy / cores - 1024;
        }
    }
}

TESSERA_INLINE void thread_simulation::start_task(std::size_t list, thread& x) {
    x.begin = -1;
    if (x.task >= 0 || to_size(x.finished) == p_.order[list].size()) {
        return;
    }
    const int next = p_.is_queue(static_cast<int>(list)) ? most_urgent(list, x) : p_.order[list][to_size(x.finished)];
    const index_t begin = next < 0 ? -1 : earliest(next, x);
    x.begin = next < 0 || begin < 0 ? x.begin : begin;
    if (next < 0 || begin < 0 || begin > now_) {
        return;
    }
    x.task = next;
    const thread_time& takes = times_[to_size(x.task)];
    x.away = takes.away;
    x.left = takes.alone * 1024;
    x.suffers = takes.pressed > takes.alone ? (takes.pressed - takes.alone) * 1024 / takes.alone : 0;
    t_.tasks[to_size(x.task)].start = begin;
}

TESSERA_INLINE index_t thread_simulation::earliest(int which, const thread& x) const {
    const task& t = p_.tasks[to_size(which)];
    index_t begin = x.free + costs_.dispatch;
    const auto wait = [&](int other) {
        index_t end = t_.tasks[to_size(other)].end;
        end = writes_ != nullptr ? writes_->known(other, which, end, now_) : end;
        begin = end > x.free ? std::max(begin, end + costs_.notice) : begin;
        return end >= 0;
    };
    for (const wait_for& w : t.waits) {
        if (threads_[to_size(w.list)].finished < w.count || !wait(p_.order[to_size(w.list)][to_size(w.count - 1)])) {
            return -1;
        }
    }
    for (const int other : t.after) {
        if (t_.tasks[to_size(other)].end == 0 || !wait(other)) {
            return -1;
        }
    }
    return begin;
}

TESSERA_INLINE int thread_simulation::most_urgent(std::size_t list, thread& x) const {
    int best = -1;
    for (const int t : p_.order[list]) {
        if (t_.tasks[to_size(t)].end != 0) {
            continue;
        }
        const index_t begin = earliest(t, x);
        if (begin >= 0 && begin <= now_) {
            best = best < 0 || p_.tasks[to_size(t)].priority < p_.tasks[to_size(best)].priority ? t : best;
        } else if (begin >= 0) {
            x.begin = x.begin < 0 ? begin : std::min(x.begin, begin);
        }
    }
    return best;
}

TESSERA_INLINE void thread_simulation::pass(index_t until) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        thread& x = threads_[i];
        if (x.task < 0) {
            continue;
        }
        if (x.away > 0) {
            x.away -= until - now_;
        } else if (now_ + stretched(x) <= until) {
            t_.tasks[to_size(x.task)].end = until; // above 0, as every task takes time
            if (i < t_.device_busy.size()) {
                t_.device_busy[i] += until - t_.tasks[to_size(x.task)].start;
            }
            x.free = until;
            if (writes_ != nullptr) {
                writes_->post(x.task, until);
            }
            x.task = -1;
            ++x.finished;
        } else {
            x.left -= (until - now_) * 1024 * 1024 / (1024 + x.slower);
        }
    }
    if (writes_ != nullptr) {
        writes_->pass(until);
    }
    now_ = until;
}

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE timeline simulate(const plan& p, const std::vector<thread_time>& times, const thread_costs& costs,
                                 const node_links* links) {
    if (times.size() != p.tasks.size()) {
        throw error("tessera: " + std::to_string(times.size()) + " times were given for the " +
                    std::to_string(p.tasks.size()) + " tasks of the plan; give one for each");
    }
    if (links == nullptr) {
        return detail::thread_simulation(p, times, costs, nullptr).run();
    }
    detail::writes_on_links writes(p, *links);
    return detail::thread_simulation(p, times, costs, &writes).run();
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
