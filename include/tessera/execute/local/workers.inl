// SPDX-License-Identifier: Apache-2.0
// Bodies of workers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/workers.hpp"

namespace tessera {

TESSERA_INLINE workers::workers(int devices, process_group* group)
    : devices_(devices), group_(group), process_(getpid()) {
    cores_ = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    allowed_ = sched_getaffinity(0, sizeof everywhere_, &everywhere_) == 0 ? CPU_COUNT(&everywhere_) : 0;
    pins_ = devices_ > 1 && devices_ <= allowed_ && group == nullptr;
    slots_.reserve(to_size(devices_ > 0 ? 2 * devices_ : 0)); // threads keep pointers to their slots
    for (int d = 1; d < devices_; ++d) {
        add_slot(d);
    }
}

TESSERA_INLINE workers::~workers() {
    if (getpid() == process_) { // a forked child has the slots, and not the threads
        stop();
    }
}

TESSERA_INLINE void* workers::start_in(void* where) {
    const slot& mine = *static_cast<const slot*>(where);
    mine.owner->loop(mine.number);
    return nullptr;
}

TESSERA_INLINE void workers::add_slot(int number) {
    slots_.push_back({this, number, {}});
    if (pthread_create(&slots_.back().thread, nullptr, &start_in, &slots_.back()) != 0) {
        slots_.pop_back();
        if (number < devices_) {
            stop();
        }
        throw error("tessera: the system has no threads for " + std::to_string(devices_) +
                    (number < devices_
                         ? " devices; make fewer devices"
                         : " devices and their communication; make fewer devices, or do without overlap"));
    }
    if (pins_ && number < allowed_) { // with fewer cores than threads transport goes where there is room
        pin(slots_.back().thread, number);
    }
}

TESSERA_INLINE void workers::stop() {
    stop_.store(true);
    for (team& t : teams_) {
        t.generation.fetch_add(1);
        wake(t);
    }
    for (const slot& s : slots_) {
        pthread_join(s.thread, nullptr);
    }
}

TESSERA_INLINE void workers::pin(pthread_t thread, int which) const {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &everywhere_) && which-- == 0) {
            CPU_SET(core, &set);
        }
    }
    pthread_setaffinity_np(thread, sizeof set, &set); // where pinning is not allowed, the thread floats
}

TESSERA_INLINE void workers::call(int device) {
    try {
        call_(what_, device);
    } catch (...) {
        if (!claimed_.exchange(true)) { // the first failure is the one that is told
            failure_ = std::current_exception();
        }
        failed_.store(true);
    }
}

TESSERA_INLINE void workers::wake(team& t) {
    if (t.sleepers.load() > 0) {
        t.generation.notify_all();
    }
}

TESSERA_INLINE void workers::loop(int number) {
    team& mine = teams_[number < devices_ ? 0 : 1];
    int patience = 25 * spins();
    std::uint64_t seen = 0;
    for (;;) {
        int spun = 0;
        while (mine.generation.load(std::memory_order_acquire) == seen && !stop_.load(std::memory_order_relaxed)) {
            if (++spun < patience) {
                detail::relax();
                continue;
            }
            mine.sleepers.fetch_add(1);
            mine.generation.wait(seen);
            mine.sleepers.fetch_sub(1);
        }
        if (stop_.load()) {
            return;
        }
        ++seen;
        call(number);
        patience = 25 * spins(streams_); // while there is one, the other stream's threads may want the core
        finished_.fetch_add(1, std::memory_order_release);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
