// SPDX-License-Identifier: Apache-2.0
// Several processes that run one plan together: what they share, how they meet, and what becomes of the others when one of them fails. How they
// come to share memory is for who makes the group (ranks/mpi.hpp).
#pragma once

#include "tessera/base/clock.hpp"
#include "tessera/base/error.hpp"
#include "tessera/execute/store.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera {

/// The most processes of a group.
inline constexpr int max_processes = 256;

/// What the processes of a group see of each other: lies in memory that they share.
struct group_page {
    struct alignas(64) seat {
        std::atomic<std::uint64_t> posted[2]{};
        std::atomic<std::uint64_t> meetings{0}; ///< that it has come to
        std::atomic<int> process{0};
        char host[64] = {};
    };
    alignas(64) std::atomic<std::uint64_t> arrived{0};
    alignas(64) std::atomic<int> failed{0}; ///< 1: somebody is writing why; 2: it is written
    char words[1024] = {};
    seat seats[max_processes];
};

/// The processes that run one plan together, each with as many of its devices: rank r has the devices from r * devices_each() on. All of them do the
/// same with it in the same order: make the same sessions, take the same steps. Whoever waits for another looks, too, whether that one is still
/// there and for how long it has waited, so that no process waits for ever.
class process_group {
public:
    process_group(const process_group&) = delete;
    process_group& operator=(const process_group&) = delete;
    virtual ~process_group() {
        for (const int fd : watched_) {
            fd >= 0 ? void(close(fd)) : void();
        }
    }

    int rank() const { return rank_; }
    int size() const { return size_; }
    int devices_each() const { return devices_each_; }
    int devices() const { return size_ * devices_each_; }
    int first_device() const { return rank_ * devices_each_; }
    int owner(int device) const { return device / devices_each_; }
    bool owns(int device) const { return owner(device) == rank_; }

    /// Zeroed memory that all processes see, near `owner`, aligned to `arena_alignment`. All call it. Throws tessera::error where there is none.
    virtual void* share(int owner, index_t bytes) = 0;
    /// Gives it back; all call it. After a failure the memory stays until the process ends.
    virtual void unshare(void* memory) noexcept = 0;
    /// Arenas of devices in such memory.
    memory_source memory() {
        return {[](void* mine, int device, index_t bytes) {
                    auto& g = *static_cast<process_group*>(mine);
                    return g.share(g.owner(device), bytes);
                },
                [](void* mine, int, void* memory) { static_cast<process_group*>(mine)->unshare(memory); }, this};
    }

    /// Returns when all processes have called it. Throws tessera::error, in every process, where one has ended, failed or not come in time; `what` is
    /// what this one is about to do.
    void meet(const char* what) { come(what, 0); }
    /// The same, and all must have come with the same number.
    void agree(std::uint64_t number, const char* what) {
        std::atomic<std::uint64_t>* const mine = page_->seats[rank_].posted;
        const std::size_t slot = meetings_ % 2; // of the next meeting others may have written already
        mine[slot].store(number, std::memory_order_release);
        come(what, 0);
        for (int r = 0; r < size_; ++r) {
            if (page_->seats[r].posted[slot].load(std::memory_order_acquire) != number) {
                fail("ranks " + std::to_string(r < rank_ ? r : rank_) + " and " +
                     std::to_string(r < rank_ ? rank_ : r) + " differ in " + what +
                     "; all ranks must run the same program with the same options and batches");
                throw_failure();
            }
        }
    }

    /// True after a process has failed: nobody must wait for it.
    bool failed() const { return page_->failed.load(std::memory_order_acquire) != 0; }
    /// Tells all processes why this one cannot go on; the first to do so is heard.
    void fail(const std::string& words) noexcept {
        int none = 0;
        if (page_->failed.compare_exchange_strong(none, 1)) {
            std::snprintf(page_->words, sizeof page_->words, "%s", words.c_str());
            page_->failed.store(2, std::memory_order_release);
        }
    }
    /// Throws what fail() was told.
    [[noreturn]] void throw_failure() const {
        const index_t begin = nanoseconds_now();
        while (page_->failed.load(std::memory_order_acquire) == 1 && nanoseconds_now() - begin < 1'000'000'000) {
            sched_yield();
        }
        throw error("tessera: rank " + std::to_string(rank_) + " stops: " + page_->words);
    }

    /// For loops that wait for others: looks, at most every few milliseconds, for processes that have ended, and for the deadline of a wait that began
    /// at `began` (ns). Fails the group where it finds one, with `waits()`, which says what is waited for.
    template <class Waits>
    void look(index_t began, Waits&& waits) noexcept {
        const index_t now = nanoseconds_now();
        index_t last = looked_.load(std::memory_order_relaxed);
        if (now - last < 5'000'000 || !looked_.compare_exchange_strong(last, now) || failed()) {
            return;
        }
        for (int r = 0; r < size_; ++r) {
            if (r != rank_ && has_ended(r)) {
                fail(name_of(r) + " has ended; rank " + std::to_string(rank_) + " waited for " + waits());
                return;
            }
        }
        if (patience_ > 0 && now - began > patience_) {
            fail("rank " + std::to_string(rank_) + " has waited " + std::to_string((now - began) / 1'000'000'000) +
                 " s for " + waits());
        }
    }

    /// "rank 1 (process 4711 on host a)"
    std::string name_of(int rank) const {
        const group_page::seat& s = page_->seats[rank];
        return "rank " + std::to_string(rank) + " (process " + std::to_string(s.process.load()) + " on host " + s.host +
               ")";
    }

protected:
    /// `patience`: seconds that a wait may take; 0: for ever.
    process_group(int rank, int size, int devices_each, double patience)
        : rank_(rank), size_(size), devices_each_(devices_each), patience_(static_cast<index_t>(patience * 1e9)),
          watched_(static_cast<std::size_t>(size), -1) {
        if (size > max_processes) {
            throw error("tessera: " + std::to_string(size) + " ranks share one plan, and there may be at most " +
                        std::to_string(max_processes));
        }
        if (devices_each < 1) {
            throw error("tessera: every rank has at least one device, and " + std::to_string(devices_each) +
                        " were asked for");
        }
    }
    /// Takes its seat in the page, which is zeroed; when all have, open() watches the others.
    void sit_down(group_page* page) {
        page_ = page;
        group_page::seat& mine = page_->seats[rank_];
        gethostname(mine.host, sizeof mine.host - 1);
        mine.process.store(getpid());
    }
    void open() {
        for (int r = 0; r < size_; ++r) {
            if (r != rank_) {
                watched_[static_cast<std::size_t>(r)] =
                    static_cast<int>(syscall(SYS_pidfd_open, page_->seats[r].process.load(), 0));
            }
        }
    }
    bool is_unwinding() const { return std::uncaught_exceptions() > 0; }
    /// Of memory that goes: false where not all have come, or only after a failure.
    bool meets_quietly() noexcept {
        try {
            come("give back memory", is_unwinding() ? 1'000'000'000 : 0);
            return true;
        } catch (...) {
            return false;
        }
    }

private:
    void come(const char* what, index_t patience) {
        if (failed()) {
            throw_failure();
        }
        ++meetings_;
        page_->seats[rank_].meetings.store(meetings_, std::memory_order_relaxed);
        const auto all = static_cast<std::uint64_t>(size_);
        const std::uint64_t wanted = meetings_ * all;
        if (page_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 >= wanted) {
            return;
        }
        const index_t began = nanoseconds_now();
        for (int i = 0; page_->arrived.load(std::memory_order_acquire) < wanted; ++i) {
            if (i < 2000) {
                pause();
                continue;
            }
            const bool is_long = nanoseconds_now() - began > 5'000'000; // the others may need the core
            is_long ? void(usleep(50)) : void(sched_yield());
            const auto waits = [&] { return who_is_missing(what); };
            look(began, waits);
            if (patience > 0 && nanoseconds_now() - began > patience) {
                fail("rank " + std::to_string(rank_) + " gives up: " + waits());
            }
            if (failed()) {
                throw_failure();
            }
        }
    }

    std::string who_is_missing(const char* what) const {
        for (int r = 0; r < size_; ++r) {
            if (page_->seats[r].meetings.load(std::memory_order_relaxed) < meetings_) {
                return name_of(r) + ", to " + what;
            }
        }
        return std::string("all ranks, to ") + what;
    }

    /// By a descriptor, which also tells of one that nobody has buried yet; without, by its number.
    bool has_ended(int r) const {
        const int fd = watched_[static_cast<std::size_t>(r)];
        if (fd < 0) {
            return kill(page_->seats[r].process.load(), 0) != 0 && errno == ESRCH;
        }
        pollfd one{fd, POLLIN, 0};
        return poll(&one, 1, 0) == 1;
    }

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    int rank_;
    int size_;
    int devices_each_;
    index_t patience_;
    std::vector<int> watched_; ///< descriptors of the other processes, or -1
    group_page* page_ = nullptr;
    std::uint64_t meetings_ = 0;
    std::atomic<index_t> looked_{0};
};

} // namespace tessera
