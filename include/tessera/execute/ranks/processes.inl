// SPDX-License-Identifier: Apache-2.0
// Bodies of processes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE int process_group::first_of(int node) const {
    int r = 0;
    while (node_of(r) != node) {
        ++r;
    }
    return r;
}

TESSERA_INLINE std::vector<int> process_group::nodes_of_devices(int devices) const {
    std::vector<int> all;
    for (int d = 0; d < devices; ++d) {
        all.push_back(node_of(owner(d)));
    }
    return all;
}

TESSERA_INLINE memory_source process_group::memory() {
    return {[](void* mine, int device, index_t bytes) {
                auto& g = *static_cast<process_group*>(mine);
                return g.share(g.owner(device), bytes);
            },
            [](void* mine, int, void* memory) { static_cast<process_group*>(mine)->unshare(memory); }, this};
}

TESSERA_INLINE void process_group::barrier(barrier_point what, std::uint64_t number) {
    if (!try_barrier(what, number)) {
        throw_failure();
    }
}

TESSERA_INLINE bool process_group::try_barrier(barrier_point what, std::uint64_t number) noexcept {
    int other = 0;
    if (!reaches_with(what, number, other)) {
        return false;
    }
    if (other > 0) {
        fail(name_of(other) + " and rank 0 are there to " + to_text(what) + ", and their numbers differ" +
             must_be_alike);
        return false;
    }
    return true;
}

TESSERA_INLINE void process_group::compare(barrier_point what, std::uint64_t number,
                                           function_ref<std::string()> lines) {
    int other = 0;
    if (!reaches_with(what, number, other)) {
        throw_failure();
    }
    if (other > 0) {
        tell_difference(what, other, lines());
    }
}

TESSERA_INLINE void process_group::agree_on_most(std::span<double> values) {
    barrier(barrier_point::agree, values.size());
    take_most(values);
}

TESSERA_INLINE void process_group::take_from_first(std::string& bytes) {
    double size = static_cast<double>(rank_ == 0 ? bytes.size() : 0);
    agree_on_most({&size, 1});
    bytes.resize(static_cast<std::size_t>(size));
    barrier(barrier_point::agree, bytes.size());
    take_first(std::as_writable_bytes(std::span<char>(bytes.data(), bytes.size())));
}

TESSERA_INLINE void process_group::join(std::span<std::byte> bytes) {
    barrier(barrier_point::join_values, bytes.size());
    take_all(bytes);
}

TESSERA_INLINE void process_group::fail(const std::string& words) noexcept {
    int none = 0;
    if (page_->failed.compare_exchange_strong(none, 1)) {
        std::snprintf(page_->words, sizeof page_->words, "%s", words.c_str());
        page_->failed.store(2, std::memory_order_release);
    }
}

TESSERA_INLINE void process_group::throw_failure() const {
    const index_t begin = nanoseconds_now();
    while (page_->failed.load(std::memory_order_acquire) == 1 && nanoseconds_now() - begin < 1'000'000'000) {
        sched_yield();
    }
    throw group_error("tessera: rank " + std::to_string(rank_) + " stops: " + page_->words,
                      page_->told.exchange(1) == 0);
}

TESSERA_INLINE std::string process_group::name_of(int rank) const {
    return name_in(*page_, rank) + (watch_.is_stopped(rank) ? ", which is stopped," : "");
}

TESSERA_INLINE std::string process_group::who_is_stopped() const {
    std::string text;
    for (int r = 0; page_ != nullptr && r < size_; ++r) {
        text += watch_.is_stopped(r) ? "; " + name_in(*page_, r) + " is stopped" : "";
    }
    return text;
}

TESSERA_INLINE std::string process_group::name_in(const group_page& page, int rank) {
    const group_page::rank_slot& s = page.slots[rank];
    return "rank " + std::to_string(rank) + " (process " + std::to_string(s.process.load()) + " on host " + s.host +
           ")";
}

TESSERA_INLINE process_group::process_group(int rank, int size, int devices_each, double patience)
    : rank_(rank), size_(size), devices_each_(devices_each), patience_(static_cast<index_t>(patience * 1e9)),
      watch_(rank, size), node_of_(to_size(size), 0) {
    if (size > max_processes) {
        throw error("tessera: " + std::to_string(size) + " ranks share one plan, and there may be at most " +
                    std::to_string(max_processes));
    }
    if (devices_each < 1) {
        throw error("tessera: every rank has at least one device, and " + std::to_string(devices_each) +
                    " were asked for");
    }
}

TESSERA_INLINE void process_group::set_nodes(std::vector<int> node_of) {
    node_of_ = std::move(node_of);
    for (const int n : node_of_) {
        nodes_ = n + 1 > nodes_ ? n + 1 : nodes_;
    }
}

TESSERA_INLINE void process_group::take_first(std::span<std::byte>) {
    throw error("tessera: these processes have no way to agree on times");
}

TESSERA_INLINE void process_group::take_all(std::span<std::byte>) {
    throw error("tessera: these processes have no way to read each other's devices");
}

TESSERA_INLINE void process_group::join_group(group_page* page) {
    page_ = page;
    group_page::rank_slot& mine = page_->slots[rank_];
    gethostname(mine.host, sizeof mine.host - 1);
    mine.process.store(getpid());
    watch_.sees(*page_, node_of_);
}

TESSERA_INLINE bool process_group::reaches_with(barrier_point what, std::uint64_t number, int& other) noexcept {
    const std::uint64_t slot = barriers_ % 2;
    group_page::rank_slot::post& mine = page_->slots[rank_].posts[slot]; // others may have written the next one's
    mine.what.store(static_cast<std::uint64_t>(what), std::memory_order_relaxed);
    mine.number.store(number, std::memory_order_relaxed);
    if (!reaches(what, what == barrier_point::give_memory && std::uncaught_exceptions() > 0 ? 1'000'000'000 : 0)) {
        return false;
    }
    const group_page::rank_slot::post& first = page_->slots[0].posts[slot];
    other = 0;
    for (int r = 0; r < size_; ++r) {
        const group_page::rank_slot::post& theirs = page_->slots[r].posts[slot];
        const auto does = static_cast<barrier_point>(theirs.what.load(std::memory_order_relaxed));
        if (does != what) {
            fail(name_of(r) + " is there to " + to_text(does) + ", and rank " + std::to_string(rank_) + " to " +
                 to_text(what) + "; all ranks must take the same steps");
            return false;
        }
        const bool differs =
            theirs.number.load(std::memory_order_relaxed) != first.number.load(std::memory_order_relaxed);
        other = other == 0 && differs ? r : other;
    }
    return true;
}

TESSERA_INLINE void process_group::tell_difference(barrier_point what, int other, const std::string& mine) {
    std::string first = mine;
    take_from_first(first);
    barrier(barrier_point::agree); // all have it, so that nobody leaves what MPI still writes to
    if (rank_ == other) {
        const std::string me = "rank " + std::to_string(rank_);
        const field_lines own = field_lines::from_text(mine);
        const field_lines theirs = field_lines::from_text(first);
        const std::string words = difference_of({me, own}, {"rank 0", theirs});
        fail(name_of(rank_) + " and rank 0 are there to " + to_text(what) + ", and " +
             (words.empty() ? "their numbers differ" : "differ: " + words) + must_be_alike);
    } else {
        barrier(barrier_point::agree); // until that one has said it
    }
    throw_failure();
}

TESSERA_INLINE bool process_group::reaches(barrier_point what, index_t patience) noexcept {
    if (failed()) {
        return false;
    }
    ++barriers_;
    page_->slots[rank_].waits_since.store(0, std::memory_order_relaxed);
    page_->slots[rank_].barriers.store(barriers_, std::memory_order_relaxed);
    if (nodes_ == 1) {
        page_->arrived.fetch_add(1, std::memory_order_acq_rel);
    } else {
        announce();
    }
    const index_t began = nanoseconds_now();
    for (int i = 0; !have_all_arrived(); ++i) {
        if (i < 2000) {
            detail::relax();
            continue;
        }
        detail::yield_or_nap(began, 5'000'000); // the others may need the core
        const auto waits = [&] { return who_is_missing(what); };
        look(began, missing_rank(), waits);
        if (patience > 0 && nanoseconds_now() - began > patience) {
            fail("rank " + std::to_string(rank_) + " gives up: " + waits());
        }
        if (failed()) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE bool process_group::have_all_arrived() const {
    if (nodes_ == 1) {
        return page_->arrived.load(std::memory_order_acquire) >= barriers_ * static_cast<std::uint64_t>(size_);
    }
    int r = 0;
    while (r < size_ && page_->slots[r].arrived.load(std::memory_order_acquire) >= barriers_) {
        ++r;
    }
    return r == size_;
}

TESSERA_INLINE int process_group::missing_rank() const {
    for (int r = 0; r < size_; ++r) {
        if (page_->slots[r].barriers.load(std::memory_order_relaxed) < barriers_) {
            return r;
        }
    }
    return -1;
}

TESSERA_INLINE std::string process_group::who_is_missing(barrier_point what) const {
    const int r = missing_rank();
    return (r >= 0 ? name_of(r) : "all ranks") + " to " + to_text(what);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
