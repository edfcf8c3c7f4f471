// SPDX-License-Identifier: Apache-2.0
// Processes of the library's own that watch the program, where whoever ends the program does not reach them.
#pragma once
#include "tessera/base/begin_header.inl"

#include <csignal>
#include <initializer_list>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::ranks {

/// Runs `body` in a process that is init's child, in a session of its own, to which the signals by which programs are
/// ended or asked mean nothing. It ends when `body` returns. `name`: what the system calls it, at most 15 characters.
/// Where the system gives no process there is none.
template <class Body>
void run_detached(const char* name, Body&& body) {
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) { // nobody's child but init's, in no group that a launcher kills
            pthread_setname_np(pthread_self(), name);
            for (int s : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGCONT}) {
                std::signal(s, SIG_IGN);
            }
            body();
        }
        _exit(0);
    }
    if (child > 0) {
        waitpid(child, nullptr, 0);
    }
}

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
