// SPDX-License-Identifier: Apache-2.0
// Simulation of a bound plan on threads of one host: every device walks its list as the executor does, waits where the plan says so, and
// takes longer where another presses on the memory that they share.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/simulate/timeline.hpp"

#include <algorithm>
#include <string>

namespace tessera::simulation {

/// How long a task takes, in ns.
struct thread_time {
    index_t alone = 1;   ///< while the other devices rest
    index_t pressed = 1; ///< while another does nothing but stream through memory
};

/// What an executor's run on threads costs besides its tasks, in ns.
struct thread_costs {
    index_t step = 0;      ///< around the run: inputs are checked, threads meet, losses are added
    index_t late = 0;      ///< until device 0 begins
    index_t hand_over = 0; ///< until the other devices begin
    index_t dispatch = 0;  ///< between two tasks
    index_t notice = 0;    ///< until a device that waits sees that it may go on
    /// How much longer, in thousandths, streaming through memory takes beside another that does: what a task adds to the
    /// time of others is in proportion to how much it suffers itself, at most this (after the bubbles of Mars et al.,
    /// MICRO 2011).
    index_t pressure = 500;
};

namespace detail {

/// Devices at work: how much of their tasks is left, at the rates of the moment.
class thread_simulation {
public:
    thread_simulation(const plan& p, const std::vector<thread_time>& times, const thread_costs& costs)
        : p_(p), times_(times), costs_(costs), devices_(static_cast<std::size_t>(p.devices)) {
        t_.tasks.resize(p.tasks.size());
        t_.device_busy.assign(devices_.size(), 0);
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            devices_[d].free = d == 0 ? costs.late : costs.hand_over;
        }
    }

    timeline run() {
        for (;;) {
            start_tasks();
            index_t next = -1; // the first moment at which anything changes
            for (const device& d : devices_) {
                if (d.task >= 0) {
                    const index_t end = now_ + std::max<index_t>(1, stretched(d));
                    next = next < 0 || end < next ? end : next;
                } else if (d.begin > now_) {
                    next = next < 0 || d.begin < next ? d.begin : next;
                }
            }
            if (next < 0) {
                break;
            }
            pass(next);
        }
        std::size_t done = 0;
        for (const device& d : devices_) {
            done += static_cast<std::size_t>(d.finished);
            t_.makespan = std::max(t_.makespan, d.free);
        }
        if (done != p_.tasks.size()) {
            throw error("tessera: " + std::to_string(p_.tasks.size() - done) + " of " +
                        std::to_string(p_.tasks.size()) +
                        " tasks wait for each other; a plan that verify() accepts has no such circle");
        }
        t_.makespan += costs_.step;
        for (std::size_t d = 0; d < p_.arena_bytes.size(); ++d) {
            t_.peak_bytes.push_back(p_.arena_bytes[d] + p_.persistent_bytes[d]);
        }
        return static_cast<timeline&&>(t_);
    }

private:
    struct device {
        int finished = 0;
        int task = -1;       // at work on it
        index_t free = 0;    // when its last task ended
        index_t begin = -1;  // when the next one may start, as far as is known
        index_t left = 0;    // of the task, in 1/1024 ns of its time alone
        index_t suffers = 0; // how much longer the task takes under full pressure, in 1/1024
        index_t slower = 0;  // how much longer it takes now, in 1/1024
    };
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    /// Puts every device that may start its next task to work on it, or notes when it may.
    void start_tasks() {
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            device& d = devices_[i];
            d.begin = -1;
            if (d.task >= 0 || at(d.finished) == p_.order[i].size()) {
                continue;
            }
            const task& t = p_.tasks[at(p_.order[i][at(d.finished)])];
            index_t begin = d.free + costs_.dispatch;
            for (const wait_for& w : t.waits) {
                const device& other = devices_[at(w.device)];
                if (other.finished < w.count) {
                    begin = -1;
                    break;
                }
                const index_t end = t_.tasks[at(p_.order[at(w.device)][at(w.count - 1)])].end;
                begin = end > d.free ? std::max(begin, end + costs_.notice) : begin;
            }
            d.begin = begin;
            if (begin < 0 || begin > now_) {
                continue;
            }
            d.task = p_.order[i][at(d.finished)];
            const thread_time& x = times_[at(d.task)];
            d.left = x.alone * 1024;
            d.suffers = x.pressed > x.alone ? (x.pressed - x.alone) * 1024 / x.alone : 0;
            t_.tasks[at(d.task)].start = begin;
        }
        for (device& d : devices_) { // who works now presses on the others
            index_t pressure = 0;
            for (const device& other : devices_) {
                if (&other != &d && other.task >= 0) {
                    pressure += std::min<index_t>(1024, other.suffers * 1000 / std::max<index_t>(1, costs_.pressure));
                }
            }
            d.slower = d.suffers * pressure / 1024;
        }
    }

    /// Nanoseconds until a device's task ends at the present rate.
    static index_t stretched(const device& d) { return (d.left * (1024 + d.slower) / 1024 + 1023) / 1024; }

    void pass(index_t until) {
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            device& d = devices_[i];
            if (d.task < 0) {
                continue;
            }
            if (now_ + stretched(d) <= until) {
                t_.tasks[at(d.task)].end = until;
                t_.device_busy[i] += until - t_.tasks[at(d.task)].start;
                d.free = until;
                d.task = -1;
                ++d.finished;
            } else {
                d.left -= (until - now_) * 1024 * 1024 / (1024 + d.slower);
            }
        }
        now_ = until;
    }

    const plan& p_;
    const std::vector<thread_time>& times_;
    const thread_costs& costs_;
    std::vector<device> devices_;
    timeline t_;
    index_t now_ = 0;
};

} // namespace detail

/// Simulates one run of a bound plan, its waits set, whose tasks take `times`. Throws tessera::error unless there is a time for every task.
inline timeline simulate(const plan& p, const std::vector<thread_time>& times, const thread_costs& costs) {
    if (times.size() != p.tasks.size()) {
        throw error("tessera: " + std::to_string(times.size()) + " times were given for the " +
                    std::to_string(p.tasks.size()) + " tasks of the plan; give one for each");
    }
    return detail::thread_simulation(p, times, costs).run();
}

} // namespace tessera::simulation
