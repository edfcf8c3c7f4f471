// SPDX-License-Identifier: Apache-2.0
// Devices of the host as threads. Device 0 is the calling thread, so that one device costs no hand-over; the others are pinned
// workers that spin for a while between runs and then sleep.
#pragma once

#include "tessera/base/error.hpp"
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

namespace detail {

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Spins, then yields: with more devices than cores the one waited for needs the core.
template <class Condition>
void spin_until(Condition&& done, int spins) {
    for (int i = 0; !done(); ++i) {
        if (i < spins) {
            relax();
        } else {
            sched_yield();
        }
    }
}

} // namespace detail

/// A fixed set of threads, one for each device, that run one function each, all at the same time. (POSIX threads: <thread> costs 0.15 s
/// to include.)
class workers {
public:
    /// `body(device)` is called on each device's own thread once for every run(). Throws tessera::error where the system gives fewer
    /// threads.
    explicit workers(int devices) : devices_(devices) {
        const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
        spins_ = devices_ <= cores ? 4000 : 50;
        if (devices_ > 1 && sched_getaffinity(0, sizeof everywhere_, &everywhere_) == 0) {
            pins_ = devices_ <= CPU_COUNT(&everywhere_);
        }
        seats_.reserve(static_cast<std::size_t>(devices_ > 0 ? devices_ : 0)); // threads keep pointers to their seats
        for (int d = 1; d < devices_; ++d) {
            seats_.push_back({this, d, {}});
            if (pthread_create(&seats_.back().thread, nullptr, &sit, &seats_.back()) != 0) {
                seats_.pop_back();
                stop();
                throw error("tessera: the system has no threads for " + std::to_string(devices_) +
                            " devices; make fewer devices");
            }
            if (pins_) {
                pin(seats_.back().thread, d);
            }
        }
    }
    ~workers() { stop(); }
    workers(const workers&) = delete;
    workers& operator=(const workers&) = delete;

    int devices() const { return devices_; }
    int spins() const { return spins_; }

    /// Runs body(device) on every device and returns when all have finished. The first exception is rethrown.
    template <class Body>
    void run(Body& body) {
        call_ = [](void* what, int device) { (*static_cast<Body*>(what))(device); };
        what_ = &body;
        failed_.store(false);
        claimed_.store(false);
        failure_ = nullptr;
        finished_.store(0);
        generation_.fetch_add(1);
        if (devices_ > 1) {
            wake();
        }
        if (pins_) { // off the workers' cores, for the time of the run only
            pin(pthread_self(), 0);
        }
        call(0);
        detail::spin_until([&] { return finished_.load(std::memory_order_acquire) == devices_ - 1; }, spins_);
        if (pins_) {
            pthread_setaffinity_np(pthread_self(), sizeof everywhere_, &everywhere_);
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    /// True after a device has thrown: the others must not wait for it.
    bool failed() const { return failed_.load(std::memory_order_relaxed); }

private:
    /// A thread's place: what it needs to know when it starts.
    struct seat {
        workers* owner;
        int device;
        pthread_t thread;
    };

    static void* sit(void* where) {
        const seat& mine = *static_cast<const seat*>(where);
        mine.owner->loop(mine.device);
        return nullptr;
    }

    void stop() {
        stop_.store(true);
        generation_.fetch_add(1);
        wake();
        for (const seat& s : seats_) {
            pthread_join(s.thread, nullptr);
        }
    }

    /// To the core number `which` of those that the process may use.
    void pin(pthread_t thread, int which) const {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &everywhere_) && which-- == 0) {
                CPU_SET(core, &set);
            }
        }
        pthread_setaffinity_np(thread, sizeof set, &set); // where pinning is not allowed, the thread floats
    }

    void call(int device) {
        try {
            call_(what_, device);
        } catch (...) {
            if (!claimed_.exchange(true)) { // the first failure is the one that is told
                failure_ = std::current_exception();
            }
            failed_.store(true);
        }
    }

    void wake() {
        if (sleepers_.load() > 0) {
            generation_.notify_all();
        }
    }

    void loop(int device) {
        std::uint64_t seen = 0;
        for (;;) {
            int spun = 0;
            while (generation_.load(std::memory_order_acquire) == seen && !stop_.load(std::memory_order_relaxed)) {
                if (++spun < spins_ * 25) {
                    detail::relax();
                    continue;
                }
                sleepers_.fetch_add(1);
                generation_.wait(seen);
                sleepers_.fetch_sub(1);
            }
            if (stop_.load()) {
                return;
            }
            ++seen;
            call(device);
            finished_.fetch_add(1, std::memory_order_release);
        }
    }

    int devices_;
    int spins_ = 0;
    bool pins_ = false;
    cpu_set_t everywhere_{};
    void (*call_)(void*, int) = nullptr;
    void* what_ = nullptr;
    std::exception_ptr failure_;
    std::atomic<bool> failed_{false};
    std::atomic<bool> claimed_{false};
    std::atomic<bool> stop_{false};
    std::atomic<int> finished_{0};
    std::atomic<int> sleepers_{0};
    alignas(64) std::atomic<std::uint64_t> generation_{0};
    std::vector<seat> seats_;
};

} // namespace tessera
