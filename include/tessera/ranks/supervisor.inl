// SPDX-License-Identifier: Apache-2.0
// Bodies of supervisor.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/supervisor.hpp"

#include <utility>

namespace tessera::ranks {

TESSERA_INLINE std::string standing(const group_page& page, int size, int lists) {
    std::string text;
    const index_t now = nanoseconds_now();
    for (int r = 0; r < size; ++r) {
        const group_page::rank_slot& s = page.slots[r];
        const std::uint64_t barriers = s.barriers.load();
        text += "  " + process_group::name_in(page, r) + ": step " + std::to_string(s.step.load() + 1);
        if (barriers > 0) {
            text += std::string(", came last to ") +
                    to_text(static_cast<barrier_point>(s.posts[(barriers - 1) % 2].what.load()));
        }
        const index_t since = s.waits_since.load(std::memory_order_acquire);
        if (since > 0) {
            text += ", waits since " + std::to_string((now - since) / 1'000'000) + " ms for " + s.waits_for;
        }
        text += "\n";
    }
    for (int l = 0; l < lists; ++l) {
        const int count = page.lists[l].size.load();
        if (count > 0) {
            text += "  list " + std::to_string(l) + ": " + std::to_string(page.lists[l].value.load()) + " of " +
                    std::to_string(count) + " tasks\n";
        }
    }
    return text;
}

TESSERA_INLINE supervisor::supervisor(group_page& page, std::vector<int> here, int size, int lists, std::string file)
    : page_(page), here_(std::move(here)), size_(size), lists_(lists), file_(std::move(file)) {}

TESSERA_INLINE void supervisor::start() {
    run_detached("ts-supervisor", [this] { watch(); });
}

TESSERA_INLINE void supervisor::watch() {
    clock_gettime(CLOCK_REALTIME, &since_);
    since_.tv_sec -= 1; // files have the coarse clock's times
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    const int ends = epoll_create1(EPOLL_CLOEXEC);
    for (const int r : here_) {
        const int fd = tessera::detail::descriptor_of(page_.slots[r].process.load());
        if (fd < 0 && page_.over.load() == 0 && page_.failed.load() == 0) {
            tell({r});
        }
        fds_.push_back(fd);
        epoll_event e{EPOLLIN, {}};
        e.data.fd = r;
        epoll_ctl(ends, EPOLL_CTL_ADD, fd, &e);
    }
    std::vector<epoll_event> ended(here_.size());
    for (;;) {
        const int count = epoll_wait(ends, ended.data(), static_cast<int>(ended.size()), 50);
        if (page_.over.load() != 0) {
            _exit(0);
        }
        if (page_.asked.exchange(0) != 0) {
            say("tessera: where the ranks are\n" + standing(page_, size_, lists_), false);
        }
        if (count > 0) { // the system tells of a rank when its last thread has ended: another may have been faster
            usleep(5'000);
            const int all = epoll_wait(ends, ended.data(), static_cast<int>(ended.size()), 0);
            std::vector<int> together;
            for (int k = 0; k < all; ++k) {
                together.push_back(ended[to_size(k)].data.fd);
            }
            tell(together);
        }
    }
}

TESSERA_INLINE void supervisor::tell(std::vector<int> ended) {
    usleep(150'000); // for those who are still there and know more
    if (page_.over.load() != 0) {
        _exit(0);
    }
    const auto others = std::stable_partition(ended.begin(), ended.end(), [this](int r) { return !is_terminated(r); });
    const bool terminated = others == ended.begin();
    ended.erase(terminated ? ended.begin() + 1 : others, ended.end());
    std::string names;
    for (const int r : ended) {
        names += (names.empty() ? "" : " and ") + process_group::name_in(page_, r);
    }
    std::string words =
        terminated         ? names + " was ended by SIGTERM, as by a launcher when a rank of another node has ended"
        : ended.size() > 1 ? names + " have ended at the same time, as by a launcher after the first of them"
                           : names + " has ended";
    if (page_.failed.load() == 2) {
        words = page_.words;
        for (const int r : ended) {
            const std::string name = process_group::name_in(page_, r);
            words += words.find(name) == std::string::npos && !terminated ? "; " + name + " has ended, too" : "";
        }
    }
    for (int k = 0; k < size_ && page_.failed.load() != 2; ++k) {
        const group_page::rank_slot& s = page_.slots[k];
        if (std::find(ended.begin(), ended.end(), k) == ended.end() &&
            s.waits_since.load(std::memory_order_acquire) > 0) {
            words += "; rank " + std::to_string(k) + " waited for " + s.waits_for;
            break;
        }
    }
    const bool first = page_.told.exchange(1) == 0;
    say("tessera: " + words + "\n" + standing(page_, size_, lists_), !first);
    clear_up();
    _exit(0);
}

TESSERA_INLINE void supervisor::clear_up() {
    for (int waits = 0; waits < 1000; ++waits) {
        bool all_ended = true;
        for (const int fd : fds_) {
            pollfd one{fd, POLLIN, 0};
            all_ended = (fd < 0 || poll(&one, 1, 0) == 1) && all_ended;
        }
        if (all_ended) {
            break;
        }
        usleep(10'000);
    }
    remove_files_of_nobody(since_);
}

TESSERA_INLINE void supervisor::say(const std::string& text, bool quiet) {
    if (!quiet) {
        (void)!write(2, text.data(), text.find('\n') + 1);
    }
    const int fd = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd >= 0) {
        (void)!write(fd, text.data(), text.size());
        close(fd);
    }
}

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
