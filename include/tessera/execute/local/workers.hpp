// SPDX-License-Identifier: Apache-2.0
// Devices of the host as threads. Device 0 is the calling thread, so that one device costs no hand-over; the others are
// pinned workers that spin for a while between runs and then sleep. A transport thread of every device joins the runs
// that have two streams.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/turns.hpp"
#include "tessera/execute/local/spin.hpp"
#include "tessera/execute/ranks/processes.hpp"
#include "tessera/task/compute.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace tessera {

/// A set of threads, one for each device, and once they are wanted one more for each device's communication, that run
/// one function each, all at the same time. (POSIX threads: <thread> costs 0.15 s to include.)
class workers {
public:
    /// `body(device)` is called on each device's own thread once for every run(). Throws tessera::error where the
    /// system gives fewer threads. In a group of processes these are the threads of this one's devices, on the cores
    /// that its launcher gave it.
    explicit workers(int devices, process_group* group = nullptr);
    ~workers();
    workers(const workers&) = delete;
    workers& operator=(const workers&) = delete;

    int devices() const { return devices_; }
    /// Whose turn it is to use them (execute/local/device_turn.hpp).
    turns& calls() const { return calls_; }
    /// The processes that share plans, or null.
    process_group* group() const { return group_; }
    /// The devices of all processes together, and the first that is one of this process's threads.
    int all_devices() const { return group_ != nullptr ? group_->devices() : devices_; }
    int first_device() const { return group_ != nullptr ? group_->first_device() : 0; }
    /// How often a thread of a run looks for what it waits for before it gives up its core.
    int spins(int streams = 1) const { return is_crowded(streams) ? 50 : 4000; }
    /// True where a run of so many streams has more threads than there are cores.
    bool is_crowded(int streams) const { return all_devices() * streams > cores_; }

    /// Runs body(device) on every device and, with two streams, body(devices() + device) on every device's transport
    /// thread; returns when all have finished. The first exception is rethrown. Leaves the caller on the cores that it
    /// may use. Throws tessera::error where the system has no threads for the transport, and in a child of fork(),
    /// which has not got the threads.
    template <class Body>
    void run(Body& body, int streams = 1) {
        if (!slots_.empty() && getpid() != process_) {
            throw error("tessera: this process was forked from the one that made its " + std::to_string(devices_) +
                        " devices, whose threads stayed there; make devices and what uses them after fork()");
        }
        for (int d = static_cast<int>(slots_.size()) + 1; streams > 1 && d < 2 * devices_; ++d) {
            add_slot(d);
        }
        const int others = streams > 1 ? 2 * devices_ - 1 : devices_ - 1;
        call_ = [](void* what, int device) { (*static_cast<Body*>(what))(device); };
        what_ = &body;
        streams_ = streams;
        failed_.store(false);
        claimed_.store(false);
        failure_ = nullptr;
        finished_.store(0);
        for (int i = 0; i < streams; ++i) {
            teams_[i].generation.fetch_add(1);
            wake(teams_[i]);
        }
        cpu_set_t before; // the caller's, who may have changed it since the last run
        const bool pins = pins_ && pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
        if (pins) { // off the workers' cores, for the time of the run only
            pin(pthread_self(), 0);
        }
        call(0);
        const auto over = [&] { return finished_.load(std::memory_order_acquire) == others; };
        group_ != nullptr && group_->nodes() > 1 ? detail::nap_until(over) // for slow links
                                                 : detail::spin_until(over, spins(streams));
        if (pins) {
            pthread_setaffinity_np(pthread_self(), sizeof before, &before);
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    /// True after a device has thrown: the others must not wait for it.
    bool failed() const { return failed_.load(std::memory_order_relaxed); }
    /// Says so before the exception leaves the body.
    void fail() { failed_.store(true); }

private:
    /// A thread's place: what it needs to know when it starts. Numbers from the number of devices on are those of
    /// transport threads.
    struct slot {
        workers* owner;
        int number;
        pthread_t thread;
    };
    /// Threads that are called together.
    struct team {
        alignas(64) std::atomic<std::uint64_t> generation{0};
        std::atomic<int> sleepers{0};
    };

    static void* start_in(void* where);

    void add_slot(int number);

    void stop();

    /// To the core number `which` of those that the process may use.
    void pin(pthread_t thread, int which) const;

    void call(int device);

    static void wake(team& t);

    void loop(int number);

    int devices_;
    mutable turns calls_;
    process_group* group_;
    pid_t process_; ///< where the threads are
    int cores_ = 1;
    int allowed_ = 0; ///< cores
    bool pins_ = false;
    cpu_set_t everywhere_{};
    void (*call_)(void*, int) = nullptr;
    void* what_ = nullptr;
    int streams_ = 1; ///< of the run
    std::exception_ptr failure_;
    std::atomic<bool> failed_{false};
    std::atomic<bool> claimed_{false};
    std::atomic<bool> stop_{false};
    std::atomic<int> finished_{0};
    team teams_[2]; ///< the devices' threads, and those of their transport
    std::vector<slot> slots_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/workers.inl"
#endif

#include "tessera/base/end_header.inl"
