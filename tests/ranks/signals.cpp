// SPDX-License-Identifier: Apache-2.0
// A program's own handler of SIGUSR1 stays: one that is there before the ranks, and one that is set meanwhile. Without
// one the ranks say where they are. Usage: mpirun -n RANKS signals
#include "tessera/ranks/mpi.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <unistd.h>

namespace {

namespace ts = tessera;

volatile std::sig_atomic_t taken = 0;
int wrong = 0;

void own(int) { taken = taken + 1; }
void check(bool good, const char* what, int rank) {
    if (!good) {
        ++wrong;
        std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
    }
}
void (*handler())(int) {
    struct sigaction found {};
    sigaction(SIGUSR1, nullptr, &found);
    return found.sa_handler;
}

int program(ts::mpi::environment& mpi) {
    const std::string file = "tessera-signals-" + std::to_string(getppid()) + ".txt";
    std::signal(SIGUSR1, own);
    {
        const ts::local_devices devices = ts::mpi::ranks(mpi, {.patience = 60, .failure_file = file});
        std::raise(SIGUSR1);
        check(taken == 1, "the handler that was there is not called", mpi.rank());
    }
    check(handler() == own, "the handler that was there is gone", mpi.rank());
    std::signal(SIGUSR1, SIG_DFL);
    {
        const ts::local_devices devices = ts::mpi::ranks(mpi, {.patience = 60, .failure_file = file});
        check(handler() != SIG_DFL, "without a handler of the program's nobody can ask", mpi.rank());
        std::signal(SIGUSR1, own);
    }
    check(handler() == own, "the handler that was set meanwhile is gone", mpi.rank());
    std::signal(SIGUSR1, SIG_DFL);
    { const ts::local_devices devices = ts::mpi::ranks(mpi, {.patience = 60, .failure_file = file}); }
    check(handler() == SIG_DFL, "the library's handler stays", mpi.rank());
    std::remove(file.c_str());
    if (mpi.rank() == 0 && wrong == 0) {
        std::printf("equal\n");
    }
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi); }, 60);
}
