// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI as the processes that run one plan: started by mpirun, mpiexec or srun, on one node.
#pragma once

#include "tessera/execute/devices.hpp"

#include <cstdint>
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
        : process_group(rank, size, o.devices_each, o.patience), comm_(comm) {
        sit_down(static_cast<group_page*>(take(0, sizeof(group_page))));
        check(MPI_Barrier(comm_), "MPI_Barrier");
        open();
        check(MPI_Barrier(comm_), "MPI_Barrier"); // nobody leaves before all watch it
    }
    ~group() override {
        if (meets_quietly()) { // else the memory goes with the process
            give(pieces_.size());
            MPI_Comm_free(&comm_);
        }
    }

    void* share(int owner, index_t bytes) override {
        meet("share memory");
        return take(owner, bytes);
    }
    void unshare(void* memory) noexcept override {
        for (std::size_t i = pieces_.size(); i-- > 1;) {
            if (pieces_[i].memory == memory && meets_quietly()) {
                MPI_Win_free(&pieces_[i].window);
                pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }

private:
    struct piece {
        MPI_Win window;
        void* memory;
    };

    void* take(int owner, index_t bytes) {
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
    void give(std::size_t count) noexcept {
        for (; count > 0; --count) {
            MPI_Win_free(&pieces_.back().window);
            pieces_.pop_back();
        }
    }

    MPI_Comm comm_;
    std::vector<piece> pieces_; ///< the first is the page
};

} // namespace detail

/// MPI for as long as it lives: initialized, unless the program has done so. A program makes one, first.
class environment {
public:
    environment(int& argc, char**& argv) {
        int there = 0;
        MPI_Initialized(&there);
        if (there == 0) {
            int given = 0;
            detail::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread");
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
            MPI_Finalize();
        }
    }

    int rank() const { return rank_; }
    int size() const { return size_; }

private:
    bool mine_ = false;
    int rank_ = 0;
    int size_ = 1;
};

/// All ranks of the program as devices, `devices_each` in each: rank r has those from r * devices_each on. Every rank makes the same trainers and takes the same
/// steps with the same batches. Throws tessera::error where the ranks are on several nodes.
inline local_devices ranks(const environment& mpi, const ranks_options& o = {}) {
    MPI_Comm node = MPI_COMM_NULL;
    detail::check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi.rank(), MPI_INFO_NULL, &node),
                  "MPI_Comm_split_type");
    int here = 0;
    MPI_Comm_size(node, &here);
    if (here != mpi.size()) {
        MPI_Comm_free(&node);
        throw error("tessera: of " + std::to_string(mpi.size()) + " ranks only " + std::to_string(here) +
                    " are on this node; start them all on one");
    }
    return local_devices(owned<process_group>(new detail::group(node, mpi.rank(), mpi.size(), o)));
}

/// The body of main(): calls program(environment), whose result is the exit code. What it throws is said on standard error, and ends all ranks with exit
/// code 1.
template <class Program>
int run(int& argc, char**& argv, Program&& program) {
    environment mpi(argc, argv);
    try {
        return program(mpi);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
}

} // namespace tessera::mpi
