// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI as the processes that run one plan: started by mpirun, mpiexec or srun, on one node.
#pragma once

#include "tessera/execute/devices.hpp"
#include "tessera/ranks/supervisor.hpp"
#include "tessera/ranks/watchdog.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifndef OMPI_SKIP_MPICXX // the C++ interface that MPI 3 has dropped
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

namespace tessera::mpi {

struct ranks_options {
    int devices_each = 1;  ///< devices of the plan that each rank has
    double patience = 600; ///< seconds that a rank waits for another before it gives up; 0: for ever
    /// Where it is written what has ended the ranks before their end, and, on SIGUSR1 to any of them, where they are; empty: nowhere, and no process
    /// watches them.
    std::string failure_file = "tessera-failure.txt";
};

namespace detail {

inline void check(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        throw error(std::string("tessera: ") + call + " failed: " + text);
    }
}

/// The ranks of a communicator, all of them on one node: they share memory through windows of MPI.
class group : public process_group {
public:
    group(MPI_Comm comm, int rank, int size, const ranks_options& o)
        : process_group(rank, size, o.devices_each, o.patience), comm_(comm), dog_(o.patience) {
        sit_down(static_cast<group_page*>(take(0, sizeof(group_page))));
        wait_for_all();
        open();
        if (rank == 0 && !o.failure_file.empty()) {
            ranks::supervisor(page(), size, 3 * devices(), o.failure_file).start();
        }
        asks_of() = &page().asked;
        std::signal(SIGUSR1, [](int) { asks_of()->store(1); });
        wait_for_all(); // nobody leaves before all watch it
    }
    ~group() override {
        std::signal(SIGUSR1, SIG_DFL);
        if (meets(meeting::leave)) { // else the memory goes with the process
            page().over.store(1);
            watched("giving back memory (MPI_Win_free)", [&] {
                for (; !pieces_.empty(); pieces_.pop_back()) {
                    MPI_Win_free(&pieces_.back().window);
                }
                MPI_Comm_free(&comm_);
            });
        }
    }

    void* share(int owner, index_t bytes) override {
        meet(meeting::take_memory);
        return take(owner, bytes);
    }
    void unshare(void* memory) noexcept override {
        for (std::size_t i = pieces_.size(); i-- > 1;) {
            if (pieces_[i].memory == memory && meets(meeting::give_memory)) {
                watched("giving back memory (MPI_Win_free)", [&] { MPI_Win_free(&pieces_[i].window); });
                pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }

private:
    static std::atomic<int>*& asks_of() {
        static std::atomic<int>* asked = nullptr;
        return asked;
    }

    struct piece {
        MPI_Win window;
        void* memory;
    };

    template <class Call>
    void watched(const char* what, Call&& call) {
        dog_.run(
            what, [this] { return " on rank " + std::to_string(rank()) + who_is_stopped(); }, call);
    }
    void wait_for_all() {
        watched("MPI_Barrier", [&] { check(MPI_Barrier(comm_), "MPI_Barrier"); });
    }

    void* take(int owner, index_t bytes) {
        void* taken = nullptr;
        watched("sharing memory (MPI_Win_allocate_shared)", [&] { taken = take_unwatched(owner, bytes); });
        return taken;
    }
    void* take_unwatched(int owner, index_t bytes) {
        const index_t room = (bytes > 0 ? bytes : 1) + arena_alignment;
        MPI_Info how = MPI_INFO_NULL;
        check(MPI_Info_create(&how), "MPI_Info_create");
        MPI_Info_set(how, "alloc_shared_noncontig", "true"); // pages of its own for each rank
        void* mine = nullptr;
        piece made{MPI_WIN_NULL, nullptr};
        const int code = MPI_Win_allocate_shared(rank() == owner ? static_cast<MPI_Aint>(room) : 0, 1, how, comm_,
                                                 &mine, &made.window);
        MPI_Info_free(&how);
        if (code != MPI_SUCCESS) {
            throw error("tessera: no memory that ranks share for an arena of " + std::to_string(bytes) +
                        " bytes; use smaller batches or more devices, or give /dev/shm more room");
        }
        MPI_Aint size = 0;
        int unit = 0;
        check(MPI_Win_shared_query(made.window, owner, &size, &unit, &mine), "MPI_Win_shared_query");
        const auto address = reinterpret_cast<std::uintptr_t>(mine);
        constexpr auto alignment = static_cast<std::uintptr_t>(arena_alignment);
        made.memory = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
        if (rank() == owner) {
            std::memset(made.memory, 0, static_cast<std::size_t>(bytes));
        }
        check(MPI_Barrier(comm_), "MPI_Barrier");
        pieces_.push_back(made);
        return made.memory;
    }

    MPI_Comm comm_;
    std::vector<piece> pieces_; ///< the first is the page
    tessera::ranks::watchdog dog_;
};

} // namespace detail

/// MPI for as long as it lives: initialized, unless the program has done so. A program makes one, first.
class environment {
public:
    /// `patience`: seconds that the start and the end of MPI may take, for which all ranks must come; 0: for ever.
    environment(int& argc, char**& argv, double patience = 600) : dog_(patience) {
        int there = 0;
        MPI_Initialized(&there);
        if (there == 0) {
            int given = 0;
            watched("MPI_Init_thread", [&] {
                detail::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread");
            });
            mine_ = true;
            if (given < MPI_THREAD_FUNNELED) {
                throw error("tessera: this MPI allows one thread in a process, and devices are threads");
            }
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    ~environment() {
        if (mine_) {
            watched("MPI_Finalize", [] { MPI_Finalize(); });
        }
    }

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Runs a call for which all ranks must come, `what`, with the deadline.
    template <class Call>
    void watched(const char* what, Call&& call) const {
        dog_.run(what, started_as, call);
    }

private:
    /// Which rank it is, by what its launcher says.
    static std::string started_as() {
        for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
            if (const char* const value = std::getenv(name); value != nullptr) {
                return std::string(" on rank ") + value + ", which waits for the others,";
            }
        }
        return "";
    }

    mutable tessera::ranks::watchdog dog_;
    bool mine_ = false;
    int rank_ = 0;
    int size_ = 1;
};

/// All ranks of the program as devices, `devices_each` in each: rank r has those from r * devices_each on. Every rank makes the same trainers and takes the same
/// steps with the same batches. Throws tessera::error where the ranks are on several nodes.
inline local_devices ranks(const environment& mpi, const ranks_options& o = {}) {
    MPI_Comm node = MPI_COMM_NULL;
    mpi.watched("MPI_Comm_split_type", [&] {
        detail::check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi.rank(), MPI_INFO_NULL, &node),
                      "MPI_Comm_split_type");
    });
    int here = 0;
    MPI_Comm_size(node, &here);
    if (here != mpi.size()) {
        MPI_Comm_free(&node);
        throw error("tessera: of " + std::to_string(mpi.size()) + " ranks only " + std::to_string(here) +
                    " are on this node; start them all on one");
    }
    return local_devices(owned<process_group>(new detail::group(node, mpi.rank(), mpi.size(), o)));
}

/// The body of main(): calls program(environment), whose result is the exit code; `patience` is the environment's. What it throws is said on standard error, and ends all ranks with exit
/// code 1.
template <class Program>
int run(int& argc, char**& argv, Program&& program, double patience = 600) {
    environment mpi(argc, argv, patience);
    try {
        return program(mpi);
    } catch (const std::exception& e) {
        const auto* const of_group = dynamic_cast<const group_error*>(&e);
        if (of_group !=
            nullptr) { // after the rank that has failed has said why, the first of the others before the launcher ends all
            usleep(of_group->is_first() ? 200'000 : 600'000);
        }
        if (of_group == nullptr || of_group->is_first()) {
            std::fprintf(stderr, "%s\n", e.what());
            std::fflush(stderr);
        }
        usleep(100'000); // for the launcher to pass it on
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
}

} // namespace tessera::mpi
