// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI as the processes that run one plan: started by mpirun, mpiexec or srun, on one node or several.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/ranks/late_launcher.hpp"
#include "tessera/ranks/mpi_calls.hpp"
#include "tessera/ranks/siblings.hpp"
#include "tessera/ranks/supervisor.hpp"
#include "tessera/ranks/transport.hpp"
#include "tessera/ranks/watchdog.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/mman.h>

namespace tessera::mpi {

struct ranks_options {
    int devices_each = 1;  ///< devices of the plan that each rank has
    double patience = 600; ///< seconds that a rank waits for another before it gives up; 0: for ever
    /// Where it is written what has ended the ranks before their end, and, on SIGUSR1 to any of them, where they are;
    /// empty: nowhere, and no process watches them. A program that has a handler of its own for SIGUSR1, or ignores it,
    /// keeps that.
    std::string failure_file = "tessera-failure.txt";
    /// As if every so many ranks had a node of their own, though they share one: to try what runs between nodes; 0:
    /// nodes are what MPI says.
    int ranks_of_node = 0;
};

namespace detail {

/// The ranks of a communicator. Those of a node share memory through windows of MPI.
class group : public process_group, private mail_office {
public:
    /// Takes both communicators: of all ranks, and of those of this rank's node.
    group(MPI_Comm all, MPI_Comm here, int rank, int size, const ranks_options& o);
    ~group() override;

    void* share(int owner, index_t bytes) override;
    void unshare(void* memory) noexcept override;

    shared_place place_of(const void* address) override;
    void post(const remote_write& l, std::uint64_t value, const run_report* report) override;
    void withdraw() override { mail_->withdraw(); }

private:
    static std::atomic<int>*& asks_of();
    static void ask(int) { asks_of()->store(1); }
    static std::atomic<int>*& terminated_of();

    struct piece {
        MPI_Win window;
        void* memory;
        index_t bytes;
        std::uint64_t number; ///< the same on all nodes
    };
    struct lock {
        explicit lock(pthread_mutex_t& m) : mutex(m) { pthread_mutex_lock(&mutex); }
        ~lock() { pthread_mutex_unlock(&mutex); }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;
        pthread_mutex_t& mutex;
    };

    void announce() override { mail_->post_barrier(); }

    void take_most(std::span<double> values) override;
    void take_first(std::span<std::byte> bytes) override;
    void take_all(std::span<std::byte> bytes) override;
    /// As barriers wait: whoever ends meanwhile is named. What MPI may still write to is the group's own.
    void wait_for(MPI_Request& all);
    void has_arrived(int who, std::uint64_t count) override { arrive(who, count); }
    std::byte* address_of(shared_place p) override;

    /// Numbers the nodes in the order of their first ranks.
    void find_nodes();
    std::vector<int> ranks_here() const;
    /// Of a rank of this node, among them.
    int number_here(int r) const;
    /// Who the ranks of other nodes are.
    void introduce();

    template <class Call>
    void watched(const char* what, Call&& call) {
        dog_.run(
            what,
            [this] { // also before the page says which processes the ranks are
                const std::string known = who_is_stopped();
                const std::string found = known.empty() ? tessera::ranks::who_is_waited_for(false) : "";
                return " on rank " + std::to_string(rank()) + known + (found.empty() ? "" : "; " + found) +
                       (known.empty() && found.empty() ? "" : ";");
            },
            call);
    }
    void wait_for_all();

    /// For the page a mapping that a supervisor has too, which MPI need not give a rank that is alone on its node.
    void* take_page();
    void* take(int owner, index_t bytes);
    void* take_unwatched(int owner, index_t bytes);

    MPI_Comm comm_;
    MPI_Comm node_comm_;
    std::vector<piece> pieces_;                         ///< the first is the page
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER; ///< of the pieces, for the thread that writes to other nodes
    std::vector<std::byte> agreed_;                     ///< what ranks are about to agree on
    std::uint64_t made_ = 0;
    bool notes_end_ = false; ///< SIGTERM is noted in its slot; the program has no handler of its own
    owned<transport> mail_;  ///< with several nodes
    tessera::ranks::watchdog dog_;
};

} // namespace detail

/// MPI for as long as it lives: initialized, unless the program has done so. A program makes one, first.
class environment {
public:
    /// `patience`: seconds that the start and the end of MPI may take, for which all ranks must come; 0: for ever.
    environment(int& argc, char**& argv, double patience = 600);
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    ~environment();

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Runs a call for which all ranks must come, `what`, with the deadline.
    template <class Call>
    void watched(const char* what, Call&& call) const {
        dog_.run(
            what, [] { return waiting(false); }, call);
    }

private:
    /// Which rank it is, by what its launcher says, and for whom it waits. `starting`: for MPI to start.
    static std::string waiting(bool starting);

    mutable tessera::ranks::watchdog dog_;
    tessera::ranks::late_launcher launcher_;
    bool mine_ = false;
    int rank_ = 0;
    int size_ = 1;
};

/// All ranks of the program as devices, `devices_each` in each: rank r has those from r * devices_each on. Every rank
/// makes the same trainers and takes the same steps with the same batches. Throws tessera::error on several nodes where
/// MPI has no threads for that.
local_devices ranks(const environment& mpi, const ranks_options& o = {});

/// The body of main(): calls program(environment), whose result is the exit code; `patience` is the environment's. What
/// it throws is said on standard error, and ends all ranks with exit code 1.
template <class Program>
int run(int& argc, char**& argv, Program&& program, double patience = 600) {
    environment mpi(argc, argv, patience);
    try {
        return program(mpi);
    } catch (const std::exception& e) {
        const auto* const of_group = dynamic_cast<const group_error*>(&e);
        if (of_group !=
            nullptr) { // after the rank that has failed has said why, the first of the others before the launcher ends
                       // all
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

#ifndef TESSERA_COMPILED
#include "tessera/ranks/mpi.inl"
#endif

#include "tessera/base/end_header.inl"
