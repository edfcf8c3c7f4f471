// SPDX-License-Identifier: Apache-2.0
// Several processes that run one plan together: how they meet, and what becomes of the others when one of them fails.
// How they come to share memory is for who makes the group (ranks/mpi.hpp).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/execute/local/run_report.hpp"
#include "tessera/execute/local/spin.hpp"
#include "tessera/execute/local/store.hpp"
#include "tessera/execute/ranks/barrier.hpp"
#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/execute/ranks/group_page.hpp"
#include "tessera/execute/ranks/process_watch.hpp"
#include "tessera/execute/ranks/remote_write.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace tessera {

/// The processes that run one plan together, each with as many of its devices: rank r has the devices from r *
/// devices_each() on. All of them do the same with it in the same order: make the same sessions, take the same steps.
/// Whoever waits for another looks, too, whether that one is still there and for how long it has waited, so that no
/// process waits for ever.
///
/// Processes of one node share memory. Every node has a page of its own, and memory for the arenas of all devices; what
/// is written on another node comes by remote writes, which a thread of each process sends and takes in. Times of a
/// page are those of its node's clock.
class process_group {
public:
    process_group(const process_group&) = delete;
    process_group& operator=(const process_group&) = delete;
    virtual ~process_group() = default;

    int rank() const { return rank_; }
    int size() const { return size_; }
    int devices_each() const { return devices_each_; }
    int devices() const { return size_ * devices_each_; }
    int first_device() const { return rank_ * devices_each_; }
    int owner(int device) const { return device / devices_each_; }
    bool owns(int device) const { return owner(device) == rank_; }

    int node() const { return node_of(rank_); }
    int nodes() const { return nodes_; }
    int node_of(int rank) const { return node_of_[to_size(rank)]; }
    bool is_here(int rank) const { return node_of(rank) == node(); }
    /// Of the processes of its node the first, which does what one has to do for memory of devices that are elsewhere.
    bool is_first_here() const { return first_here() == rank_; }
    int first_here() const { return first_of(node()); }
    int first_of(int node) const;
    /// Whether this process writes, for its node, what all are given for a device: its own, and the first one those of
    /// other nodes.
    bool writes_for(int device) const { return owns(device) || (!is_here(owner(device)) && is_first_here()); }
    /// The nodes of the first `devices` devices.
    std::vector<int> nodes_of_devices(int devices) const;

    /// Memory that all processes see, near `owner`, aligned to `arena_alignment`, with zeros where `owner` is on this
    /// node: each node has its own. All call it. Throws tessera::error where there is none.
    virtual void* share(int owner, index_t bytes) = 0;
    /// Gives it back; all call it. After a failure the memory stays until the process ends.
    virtual void unshare(void* memory) noexcept = 0;
    /// Arenas of devices in such memory.
    memory_source memory();

    /// The place of an address in such memory.
    virtual shared_place place_of(const void*) { return {}; }
    /// Sends a remote write to its node, with `value` for its signal, and what the run's report (or null) has found. It
    /// is gone when all processes have met after it: in one process's order of calls what comes before a barrier
    /// arrives before it.
    virtual void post(const remote_write&, std::uint64_t /*value*/, const run_report*) {}
    /// Before remote writes are gone: after a failure some may not have been sent, and are not any more.
    virtual void withdraw() {}
    /// The reports of the present run and of the one before it: what they have found is told at every barrier.
    void set_reports(run_report* two) { reports_ = two; }
    const run_report* reports() const { return reports_; }

    /// Returns when all processes have called it. Throws group_error, in every process, where one has ended, failed or
    /// not come in time, or where they have come for different things or with different numbers.
    void barrier(barrier_point what, std::uint64_t number = 0);
    /// The same for destructors: false where barrier() throws.
    bool try_barrier(barrier_point what, std::uint64_t number = 0) noexcept;
    /// The same where the number is a hash of a value: `lines` says that value, a line for each field
    /// (field_lines::text()), and is asked only where numbers differ. group_error then says in which fields the values
    /// of rank 0 and of the first that has another differ. Each process sends 8 bytes, those of every barrier; where
    /// they differ rank 0 sends its lines to all.
    void compare(barrier_point what, std::uint64_t number, function_ref<std::string()> lines);

    /// Gives every value, in all processes, the largest that one of them has: of times those of the slowest. All call
    /// it, with as many.
    void agree_on_most(std::span<double> values);
    /// Gives all processes the bytes of rank 0. All call it.
    void take_from_first(std::string& bytes);
    /// Gives all processes the whole of what each has a part of: where one has its bytes, all others have zeros. All
    /// call it, with as many.
    void join(std::span<std::byte> bytes);

    /// True after a process has failed: nobody must wait for it.
    bool failed() const { return page_->failed.load(std::memory_order_acquire) != 0; }
    /// Tells all processes why this one cannot go on; the first to do so is heard.
    void fail(const std::string& words) noexcept;
    /// Throws what fail() was told.
    [[noreturn]] void throw_failure() const;

    /// For loops that wait for others: looks, at most every few milliseconds, for processes that have ended, and for
    /// the deadline of a wait that began at `began` (ns). Fails the group where it finds one, with `waits()`, which
    /// says what is waited for; `on`: the rank that does it, or -1.
    template <class Waits>
    void look(index_t began, int on, Waits&& waits) noexcept {
        const index_t now = nanoseconds_now();
        index_t last = looked_.load(std::memory_order_relaxed);
        if (now - last < 5'000'000 || !looked_.compare_exchange_strong(last, now) || failed()) {
            return;
        }
        note_wait(began, on, waits);
        const int first = watch_.ended_first();
        for (int r = 0; r < size_; ++r) {
            if (first < 0 ? r != rank_ && watch_.is_gone(r) : r == first) {
                fail(name_of(r) +
                     (is_here(r) ? " has ended"
                                 : " has not been heard of for " +
                                       std::to_string(detail::process_watch::longest_silence / 1'000'000'000) + " s") +
                     "; rank " + std::to_string(rank_) + " waited for " + waits());
                return;
            }
        }
        if (patience_ > 0 && now - began > patience_) {
            fail("rank " + std::to_string(rank_) + " has waited " + std::to_string((now - began) / 1'000'000'000) +
                 " s for " + waits() + who_is_stopped());
        }
    }

    /// Which step the next run is of, for those who ask where this process is.
    void begins(std::uint64_t step) { page_->slots[rank_].step.store(step, std::memory_order_relaxed); }
    group_page& page() { return *page_; }

    /// "rank 1 (process 4711 on host a)"
    std::string name_of(int rank) const;
    /// "; rank 1 (...) is stopped" for each that is.
    std::string who_is_stopped() const;
    static std::string name_in(const group_page& page, int rank);

protected:
    /// `patience`: seconds that a wait may take; 0: for ever.
    process_group(int rank, int size, int devices_each, double patience);
    /// Before join_group(): the node of every rank, counted from 0.
    void set_nodes(std::vector<int> node_of);
    /// What agree_on_most(), take_from_first() and join() do, once all have come for it.
    virtual void take_most(std::span<double>) { throw error("tessera: these processes have no way to agree on times"); }
    virtual void take_first(std::span<std::byte>);
    virtual void take_all(std::span<std::byte>);
    /// Of several nodes: tells the others that this process has come to a barrier, after all remote writes that were
    /// posted before; then they, and it, have arrived.
    virtual void announce() {}
    /// All that a rank has sent before its barrier number `count`, from 1, is here.
    void arrive(int rank, std::uint64_t count) { page_->slots[rank].arrived.store(count, std::memory_order_release); }

    /// Takes its slot in the page, which is zeroed; when all have, open() watches the others.
    void join_group(group_page* page);
    void open() { watch_.open(); }

private:
    static constexpr const char* must_be_alike =
        "; all ranks must run the same program with the same options and batches";

    /// Of those that have come with another number than rank 0 `other` becomes the first; 0 where there is none.
    bool reaches_with(barrier_point what, std::uint64_t number, int& other) noexcept;
    /// All processes have seen that numbers differ, and call it.
    [[noreturn]] void tell_difference(barrier_point what, int other, const std::string& mine);

    template <class Waits>
    void note_wait(index_t began, int on, Waits&& waits) noexcept {
        group_page::rank_slot& mine = page_->slots[rank_];
        if (mine.waits_since.load(std::memory_order_relaxed) != began) {
            mine.waits_since.store(0, std::memory_order_release);
            mine.waits_on.store(on, std::memory_order_relaxed);
            std::snprintf(mine.waits_for, sizeof mine.waits_for, "%s", std::string(waits()).c_str());
            mine.waits_since.store(began, std::memory_order_release);
        }
    }

    bool reaches(barrier_point what, index_t patience) noexcept;

    bool have_all_arrived() const;
    /// The first that has not come to this barrier, or -1.
    int missing_rank() const;
    std::string who_is_missing(barrier_point what) const;

    int rank_;
    int size_;
    int devices_each_;
    index_t patience_;
    detail::process_watch watch_;
    std::vector<int> node_of_; ///< by rank
    int nodes_ = 1;
    run_report* reports_ = nullptr; ///< two, in shared memory
    group_page* page_ = nullptr;
    std::uint64_t barriers_ = 0;
    std::atomic<index_t> looked_{0};
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/processes.inl"
#endif

#include "tessera/base/end_header.inl"
