// SPDX-License-Identifier: Apache-2.0
// Bodies of late_launcher.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/late_launcher.hpp"

namespace tessera::ranks {

TESSERA_INLINE void late_launcher::watch() {
    const char* const number = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK"); // Open MPI's
    launcher_ = getppid();
    number_here_ = number != nullptr ? std::atoi(number) : -1;
    if (number_here_ < 0 || number_here_ > 1 || !hangs(detail::program_of(launcher_))) {
        return;
    }
    void* const page = mmap(nullptr, sizeof *over_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    over_ = new (page) std::atomic<int>(0);
    launcher_ends_ = tessera::detail::descriptor_of(launcher_);
    const int rank_ends = tessera::detail::descriptor_of(getpid());
    if (launcher_ends_ >= 0 && rank_ends >= 0 && getppid() == launcher_) { // else it has ended
        run_detached("ts-launcher", [&] { look_after(rank_ends); });
    }
    close(launcher_ends_);
    close(rank_ends);
}

TESSERA_INLINE void late_launcher::look_after(int rank_ends) {
    for (const int file : detail::numbers_in_folder("/proc/self/fd")) { // whose end others wait for
        if (file != rank_ends && file != launcher_ends_) {
            close(file);
        }
    }
    pollfd both[] = {{rank_ends, POLLIN, 0}, {launcher_ends_, POLLIN, 0}};
    while (poll(both, 2, -1) < 0) {
    }
    index_t since = nanoseconds_now();
    while (over_->load() == 0 && poll(both + 1, 1, 50) == 0) {
        bool one_runs = false;
        bool one_is_stopped = false;
        for (const child& c : children_of(launcher_)) {
            one_is_stopped = one_is_stopped || c.stopped;
            one_runs = one_runs || (!c.stopped && rank_of(c.process) >= 0);
        }
        if (one_runs || (!one_is_stopped && !waits_for_thread())) {
            since = nanoseconds_now();
        }
        if (static_cast<double>(nanoseconds_now() - since) < (grace + 0.5 * number_here_) * 1e9) {
            continue;
        }
        if (!one_is_stopped) {
            say();
            syscall(SYS_pidfd_send_signal, launcher_ends_, SIGKILL, nullptr, 0);
            return;
        }
        for (const child& c : children_of(launcher_)) {
            if (c.stopped) {
                kill(c.process, SIGKILL);
            }
        }
        since = nanoseconds_now();
    }
}

TESSERA_INLINE bool late_launcher::waits_for_thread() const {
    const std::string where = detail::text_of("/proc/" + std::to_string(launcher_) + "/wchan");
    return where.empty() || where == "0" || where.find("futex") != std::string::npos;
}

TESSERA_INLINE void late_launcher::say() const {
    const std::string words = "tessera: the launcher (process " + std::to_string(launcher_) +
                              ") has not ended after its ranks on this node have, and is ended (Open MPI's mpirun "
                              "now and then hangs where a rank has ended early)\n";
    const int file = open(("/proc/" + std::to_string(launcher_) + "/fd/2").c_str(),
                          O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, words.data(), words.size());
        close(file);
    }
}

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
