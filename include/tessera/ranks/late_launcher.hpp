// SPDX-License-Identifier: Apache-2.0
// Launchers that do not end although their ranks have.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/processes.hpp"
#include "tessera/ranks/detached.hpp"
#include "tessera/ranks/siblings.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::ranks {

/// Ends Open MPI's launcher where it hangs. Of jobs that a rank has ended early, Open MPI 4.1.4 (with PMIx 4.2.2) ends
/// the ranks; then, in one of some hundred such jobs, mpirun waits for ever for a thread of its own, in
/// PMIx_server_finalize.
///
/// The first two ranks of a node each start a process, out of the launcher's reach, that sleeps until the rank has
/// ended. Where that was before over(), it looks after the launcher: what it has started and is stopped, and it has not
/// ended within `grace`, is killed; where no rank is left, and `grace` later the launcher waits for a thread, that is
/// said on its standard error, and it is killed. So the job's exit code is not 0. Nothing is done while a rank of the
/// launcher on this node runs, or while it is busy with what ranks have written. Other launchers are left alone.
class late_launcher {
public:
    /// Seconds; for the process of the second rank half a second more, so that one speaks.
    static constexpr double grace = 3;

    late_launcher() = default;
    ~late_launcher() { over_ != nullptr ? void(munmap(over_, sizeof *over_)) : void(); }
    late_launcher(const late_launcher&) = delete;
    late_launcher& operator=(const late_launcher&) = delete;

    /// Once, before MPI starts.
    void watch() {
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
    /// The rank has ended MPI as it should.
    void over() { over_ != nullptr ? over_->store(1) : void(); }

private:
    static bool hangs(const std::string& program) { return program == "orterun" || program == "orted"; }

    /// In the process that watches.
    void look_after(int rank_ends) {
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
                c.stopped ? void(kill(c.process, SIGKILL)) : void();
            }
            since = nanoseconds_now();
        }
    }

    /// Of the launcher's first thread, which otherwise waits for what ranks and the system tell it. Where the system
    /// does not say, it may be so.
    bool waits_for_thread() const {
        const std::string where = detail::text_of("/proc/" + std::to_string(launcher_) + "/wchan");
        return where.empty() || where == "0" || where.find("futex") != std::string::npos;
    }

    void say() const {
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

    std::atomic<int>* over_ = nullptr; ///< shared with the process that watches
    int launcher_ = 0;
    int number_here_ = -1;   ///< of the rank, among those of its node
    int launcher_ends_ = -1; ///< by which poll() tells that it has ended
};

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
