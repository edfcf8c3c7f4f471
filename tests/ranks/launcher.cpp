// SPDX-License-Identifier: Apache-2.0
// A launcher of one rank, for launcher.py: once the rank has ended it waits 30 s for a thread (hangs) or for something
// to read (reads), or until a child of its own that is stopped has ended (stops).
// Usage: launcher HOW PROGRAM ARGUMENT...
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <poll.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// `body` in a child; its process.
template <class Body>
pid_t start(Body&& body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(127);
    }
    return child;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: launcher HOW PROGRAM ARGUMENT...\n");
        return 2;
    }
    const bool stops = std::strcmp(argv[1], "stops") == 0;
    const pid_t stopped = stops ? start([] { std::raise(SIGSTOP); }) : 0;
    waitpid(start([&] { execv(argv[2], argv + 2); }), nullptr, 0);
    if (stops) {
        waitpid(stopped, nullptr, 0);
    } else if (std::strcmp(argv[1], "reads") == 0) {
        poll(nullptr, 0, 30'000);
    } else {
        sem_t never;
        sem_init(&never, 0, 0);
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 30;
        sem_timedwait(&never, &until);
    }
    return 1;
}
