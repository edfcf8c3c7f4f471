// SPDX-License-Identifier: Apache-2.0
// A process beside the ranks of a node, out of their launcher's reach: launchers kill the survivors of a failure within a fifth of a second, before they can
// say what happened.
#pragma once

#include "tessera/execute/processes.hpp"

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::ranks {

/// Where every rank of a group stands: a line for each.
inline std::string standing(const group_page& page, int size, int lists) {
    std::string text;
    const index_t now = nanoseconds_now();
    for (int r = 0; r < size; ++r) {
        const group_page::seat& s = page.seats[r];
        const std::uint64_t meetings = s.meetings.load();
        text += "  " + process_group::name_in(page, r) + ": step " + std::to_string(s.step.load() + 1);
        if (meetings > 0) {
            text +=
                std::string(", came last to ") + to_text(static_cast<meeting>(s.posts[(meetings - 1) % 2].what.load()));
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

/// Says, on standard error and in a file, what has ended a group before its end.
class supervisor {
public:
    /// `here`: the ranks of the node, which it watches, of `size`.
    supervisor(group_page& page, std::vector<int> here, int size, int lists, std::string file)
        : page_(page), here_(static_cast<std::vector<int>&&>(here)), size_(size), lists_(lists),
          file_(static_cast<std::string&&>(file)) {}

    /// Starts it; `page` must stay mapped in it, and every rank have its seat. Where the system gives no process there is none.
    void start() {
        const pid_t child = fork();
        if (child == 0) {
            setsid();
            if (fork() == 0) { // nobody's child but init's, in no group that a launcher kills
                watch();
            }
            _exit(0);
        }
        if (child > 0) {
            waitpid(child, nullptr, 0);
        }
    }

private:
    [[noreturn]] void watch() {
        for (int s : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGCONT}) {
            std::signal(s, SIG_IGN);
        }
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0);
        dup2(nothing, 1);
        std::vector<pollfd> all;
        for (const int r : here_) {
            const int fd = tessera::detail::descriptor_of(page_.seats[r].process.load());
            if (fd < 0 && page_.over.load() == 0 && page_.failed.load() == 0) {
                tell(r);
            }
            all.push_back({fd, POLLIN, 0});
        }
        for (;;) {
            const int ended = poll(all.data(), all.size(), 50);
            if (page_.over.load() != 0) {
                _exit(0);
            }
            if (page_.asked.exchange(0) != 0) {
                say("tessera: where the ranks are\n" + standing(page_, size_, lists_), false);
            }
            int first =
                -1; // of several that have ended the one for which another waited: its launcher may have ended that one since
            for (std::size_t k = 0; ended > 0 && k < here_.size(); ++k) {
                if ((all[k].revents & POLLIN) != 0 &&
                    (first < 0 || is_terminated(first) || (is_waited_for(here_[k]) && !is_terminated(here_[k])))) {
                    first = here_[k];
                }
            }
            first >= 0 ? tell(first) : void();
        }
    }

    bool is_terminated(int r) const { return page_.seats[r].terminated.load() != 0; }
    bool is_waited_for(int r) const {
        for (int k = 0; k < size_; ++k) {
            const group_page::seat& s = page_.seats[k];
            if (k != r && s.waits_since.load(std::memory_order_acquire) > 0 && s.waits_on.load() == r) {
                return true;
            }
        }
        return false;
    }

    /// Rank r has ended, and the group has not.
    [[noreturn]] void tell(int r) {
        usleep(150'000); // for those who are still there and know more
        if (page_.over.load() != 0) {
            _exit(0);
        }
        std::string words = page_.failed.load() == 2 ? page_.words
                            : is_terminated(r)
                                ? process_group::name_in(page_, r) +
                                      " was ended by SIGTERM, as by a launcher when a rank of another node has ended"
                                : process_group::name_in(page_, r) + " has ended";
        for (int k = 0; k < size_ && page_.failed.load() != 2; ++k) {
            const group_page::seat& s = page_.seats[k];
            if (k != r && s.waits_since.load(std::memory_order_acquire) > 0) {
                words += "; rank " + std::to_string(k) + " waited for " + s.waits_for;
                break;
            }
        }
        const bool first = page_.told.exchange(1) == 0;
        say("tessera: " + words + "\n" + standing(page_, size_, lists_), !first);
        _exit(0);
    }

    void say(const std::string& text, bool quiet) {
        if (!quiet) {
            (void)!write(2, text.data(), text.find('\n') + 1);
        }
        const int fd = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (fd >= 0) {
            (void)!write(fd, text.data(), text.size());
            close(fd);
        }
    }

    group_page& page_;
    std::vector<int> here_;
    int size_;
    int lists_;
    std::string file_;
};

} // namespace tessera::ranks
