// SPDX-License-Identifier: Apache-2.0
// Launchers that do not end although their ranks have.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
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
    ~late_launcher() {
        if (over_ != nullptr) {
            munmap(over_, sizeof *over_);
        }
    }
    late_launcher(const late_launcher&) = delete;
    late_launcher& operator=(const late_launcher&) = delete;

    /// Once, before MPI starts.
    void watch();
    /// The rank has ended MPI as it should.
    void over() {
        if (over_ != nullptr) {
            over_->store(1);
        }
    }

private:
    static bool hangs(const std::string& program) { return program == "orterun" || program == "orted"; }

    /// In the process that watches.
    void look_after(int rank_ends);

    /// Of the launcher's first thread, which otherwise waits for what ranks and the system tell it. Where the system
    /// does not say, it may be so.
    bool waits_for_thread() const;

    void say() const;

    std::atomic<int>* over_ = nullptr; ///< shared with the process that watches
    int launcher_ = 0;
    int number_here_ = -1;   ///< of the rank, among those of its node
    int launcher_ends_ = -1; ///< by which poll() tells that it has ended
};

} // namespace tessera::ranks

#ifndef TESSERA_COMPILED
#include "tessera/ranks/late_launcher.inl"
#endif

#include "tessera/base/end_header.inl"
