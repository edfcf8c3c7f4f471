// SPDX-License-Identifier: Apache-2.0
// Bodies of process_watch.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/process_watch.hpp"

#include "tessera/base/clock.hpp"

#include <cstdio>
#include <string>

namespace tessera::detail {

TESSERA_INLINE process_watch::~process_watch() {
    if (ends_ >= 0) {
        close(ends_);
    }
    for (const int fd : watched_) {
        if (fd >= 0) {
            close(fd);
        }
    }
}

TESSERA_INLINE void process_watch::sees(const group_page& page, const std::vector<int>& node_of) {
    page_ = &page;
    for (std::size_t r = 0; r < here_.size(); ++r) {
        here_[r] = node_of[r] == node_of[to_size(rank_)];
    }
}

TESSERA_INLINE void process_watch::open() {
    for (int r = 0; r < static_cast<int>(here_.size()); ++r) {
        if (r != rank_ && is_here(r)) {
            const int fd = descriptor_of(page_->slots[r].process.load());
            watched_[to_size(r)] = fd;
            ends_ = ends_ < 0 ? epoll_create1(EPOLL_CLOEXEC) : ends_;
            epoll_event e{EPOLLIN, {}};
            e.data.fd = r;
            epoll_ctl(ends_, EPOLL_CTL_ADD, fd, &e);
        }
    }
}

TESSERA_INLINE int process_watch::ended_first() const {
    epoll_event first{};
    return ends_ >= 0 && epoll_wait(ends_, &first, 1, 0) == 1 ? first.data.fd : -1;
}

TESSERA_INLINE bool process_watch::is_gone(int r) const {
    if (!is_here(r)) {
        const std::int64_t heard = page_->slots[r].heard.load(std::memory_order_relaxed);
        return heard > 0 && nanoseconds_now() - heard > longest_silence;
    }
    const int fd = watched_[to_size(r)];
    if (fd < 0) {
        return kill(page_->slots[r].process.load(), 0) != 0 && errno == ESRCH;
    }
    pollfd one{fd, POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

TESSERA_INLINE bool process_watch::is_stopped(int r) const {
    if (!is_here(r)) {
        return false;
    }
    const int process = page_->slots[r].process.load();
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/stat", process);
    std::FILE* const f = std::fopen(path, "r");
    char text[512] = "";
    if (f != nullptr) {
        text[std::fread(text, 1, sizeof text - 1, f)] = 0;
        std::fclose(f);
    }
    const std::string all = text;
    const std::size_t end = all.rfind(')'); // of its name
    return end != std::string::npos && end + 2 < all.size() && (all[end + 2] == 'T' || all[end + 2] == 't');
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
