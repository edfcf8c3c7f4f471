// SPDX-License-Identifier: Apache-2.0
// Whether the other processes of a group are still there.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/execute/ranks/group_page.hpp"

#include <cerrno>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::detail {

/// By which poll() tells that a process has ended, also one that nobody has buried yet; -1 where the system has none.
inline int descriptor_of(int process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

/// Looks at processes of its own node by their descriptors or numbers, and at others by when they were last heard of.
/// It owns the descriptors; what becomes of a group of which one has ended is process_group's.
class process_watch {
public:
    static constexpr index_t longest_silence = 9'000'000'000; ///< ns, of a process that writes twice a second

    process_watch(int rank, int size) : rank_(rank), watched_(to_size(size), -1), here_(watched_.size(), true) {}
    ~process_watch();
    process_watch(const process_watch&) = delete;
    process_watch& operator=(const process_watch&) = delete;

    /// `node_of`: the node of every rank.
    void sees(const group_page& page, const std::vector<int>& node_of);
    /// When all have taken their slots.
    void open();

    /// Of this node's other processes the one that has ended first, or -1: launchers end the others within
    /// milliseconds, and epoll tells in which order.
    int ended_first() const;
    /// Of its node: by its descriptor; without, by its number.
    bool is_gone(int r) const;
    /// By a signal or a debugger.
    bool is_stopped(int r) const;

private:
    bool is_here(int r) const { return here_[to_size(r)]; }

    int rank_;
    const group_page* page_ = nullptr;
    std::vector<int> watched_; ///< descriptors of the other processes, or -1
    int ends_ = -1;            ///< an epoll of them
    std::vector<bool> here_;   ///< by rank: on this node
};

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/process_watch.inl"
#endif

#include "tessera/base/end_header.inl"
