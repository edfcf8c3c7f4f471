// SPDX-License-Identifier: Apache-2.0
// Bodies of mpi.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/mpi.hpp"

#include <utility>

namespace tessera::mpi::detail {

TESSERA_INLINE group::group(MPI_Comm all, MPI_Comm here, int rank, int size, const ranks_options& o)
    : process_group(rank, size, o.devices_each, o.patience), comm_(all), node_comm_(here), dog_(o.patience) {
    find_nodes();
    join_group(static_cast<group_page*>(take_page()));
    introduce();
    open();
    if (is_first_here() && !o.failure_file.empty()) {
        ranks::supervisor(page(), ranks_here(), size, 3 * devices(), o.failure_file).start();
    }
    asks_of() = &page().asked;
    struct sigaction found {};
    sigaction(SIGUSR1, nullptr, &found);
    if (!o.failure_file.empty() && (found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == SIG_DFL) {
        std::signal(SIGUSR1, ask);
    }
    terminated_of() = &page().slots[rank].terminated;
    const auto before = std::signal(SIGTERM, [](int number) { // for the supervisor, which sees only that it ends
        terminated_of()->store(1);
        std::signal(number, SIG_DFL);
        std::raise(number);
    });
    notes_end_ = before == SIG_DFL;
    if (!notes_end_) {
        std::signal(SIGTERM, before);
    }
    wait_for_all(); // nobody leaves before all watch it
    if (nodes() > 1) {
        mail_ = owned<transport>(new transport(comm_, *this, *this));
        mail_->start();
    }
}

TESSERA_INLINE group::~group() {
    struct sigaction found {};
    sigaction(SIGUSR1, nullptr, &found);
    if ((found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == ask) { // not one that the program has set meanwhile
        std::signal(SIGUSR1, SIG_DFL);
    }
    if (notes_end_) {
        std::signal(SIGTERM, SIG_DFL);
    }
    const bool all_leave = try_barrier(barrier_point::leave); // else the memory goes with the process
    mail_ = owned<transport>();
    if (all_leave) {
        page().over.store(1);
        watched("giving back memory (MPI_Win_free)", [&] {
            for (; !pieces_.empty(); pieces_.pop_back()) {
                MPI_Win_free(&pieces_.back().window);
            }
            MPI_Comm_free(&node_comm_);
            MPI_Comm_free(&comm_);
        });
    }
    pthread_mutex_destroy(&mutex_);
}

TESSERA_INLINE void* group::share(int owner, index_t bytes) {
    barrier(barrier_point::take_memory);
    return take(owner, bytes);
}

TESSERA_INLINE void group::unshare(void* memory) noexcept {
    for (std::size_t i = pieces_.size(); i-- > 0;) {
        if (pieces_[i].memory == memory && try_barrier(barrier_point::give_memory)) {
            watched("giving back memory (MPI_Win_free)", [&] { MPI_Win_free(&pieces_[i].window); });
            const lock while_it_changes(mutex_);
            pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
    }
}

TESSERA_INLINE shared_place group::place_of(const void* address) {
    const lock while_read(mutex_);
    const auto* const a = static_cast<const std::byte*>(address);
    for (const piece& x : pieces_) {
        const auto* const begin = static_cast<const std::byte*>(x.memory);
        if (begin <= a && a < begin + x.bytes) {
            return {x.number, static_cast<std::uint64_t>(a - begin)};
        }
    }
    return {};
}

TESSERA_INLINE void group::post(const remote_write& l, std::uint64_t value, const run_report* report) {
    mail_->post(l, value, report);
}

TESSERA_INLINE std::atomic<int>*& group::asks_of() {
    static std::atomic<int>* asked = nullptr;
    return asked;
}

TESSERA_INLINE std::atomic<int>*& group::terminated_of() {
    static std::atomic<int>* terminated = nullptr;
    return terminated;
}

TESSERA_INLINE void group::take_most(std::span<double> values) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
    agreed_.assign(bytes, bytes + values.size_bytes());
    MPI_Request all = MPI_REQUEST_NULL;
    check(
        MPI_Iallreduce(MPI_IN_PLACE, agreed_.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, comm_, &all),
        "MPI_Iallreduce");
    wait_for(all);
    std::memcpy(values.data(), agreed_.data(), values.size_bytes());
}

TESSERA_INLINE void group::take_first(std::span<std::byte> bytes) {
    agreed_.assign(bytes.begin(), bytes.end());
    MPI_Request all = MPI_REQUEST_NULL;
    check(MPI_Ibcast(agreed_.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm_, &all), "MPI_Ibcast");
    wait_for(all);
    std::memcpy(bytes.data(), agreed_.data(), bytes.size());
}

TESSERA_INLINE void group::take_all(std::span<std::byte> bytes) {
    constexpr std::size_t most = std::size_t{1} << 28U; // MPI counts in int
    for (std::size_t at = 0; at < bytes.size(); at += most) {
        const std::span<std::byte> part = bytes.subspan(at, std::min(most, bytes.size() - at));
        agreed_.assign(part.begin(), part.end());
        MPI_Request all = MPI_REQUEST_NULL;
        check(
            MPI_Iallreduce(MPI_IN_PLACE, agreed_.data(), static_cast<int>(part.size()), MPI_BYTE, MPI_BOR, comm_, &all),
            "MPI_Iallreduce");
        wait_for(all);
        std::memcpy(part.data(), agreed_.data(), part.size());
    }
}

TESSERA_INLINE void group::wait_for(MPI_Request& all) {
    const index_t began = nanoseconds_now();
    for (int done = 0; done == 0;) {
        check(MPI_Test(&all, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) {
            tessera::detail::yield_or_nap(began, 5'000'000);
            look(began, -1, [] { return std::string("all ranks to ") + to_text(barrier_point::agree); });
            if (failed()) {
                throw_failure();
            }
        }
    }
}

TESSERA_INLINE std::byte* group::address_of(shared_place p) {
    const lock while_read(mutex_);
    for (const piece& x : pieces_) {
        if (x.number == p.piece) {
            return static_cast<std::byte*>(x.memory) + p.offset;
        }
    }
    return nullptr;
}

TESSERA_INLINE void group::find_nodes() {
    int first = rank();
    watched("MPI_Allreduce", [&] {
        int here = rank();
        check(MPI_Allreduce(&here, &first, 1, MPI_INT, MPI_MIN, node_comm_), "MPI_Allreduce");
    });
    std::vector<int> firsts(to_size(size()));
    watched("MPI_Allgather",
            [&] { check(MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, comm_), "MPI_Allgather"); });
    std::vector<int> node_of(firsts.size());
    int nodes = 0;
    for (std::size_t r = 0; r < firsts.size(); ++r) {
        const auto of = to_size(firsts[r]);
        node_of[r] = of == r ? nodes++ : node_of[of];
    }
    set_nodes(std::move(node_of));
    int given = 0;
    MPI_Query_thread(&given);
    if (nodes > 1 && given < MPI_THREAD_MULTIPLE) {
        throw error("tessera: ranks on several nodes write to each other from a thread of their own, which this "
                    "MPI does not "
                    "allow (MPI_THREAD_MULTIPLE); start all ranks on one node, or use another MPI");
    }
}

TESSERA_INLINE std::vector<int> group::ranks_here() const {
    std::vector<int> all;
    for (int r = 0; r < size(); ++r) {
        if (is_here(r)) {
            all.push_back(r);
        }
    }
    return all;
}

TESSERA_INLINE int group::number_here(int r) const {
    int before = 0;
    for (int k = 0; k < r; ++k) {
        before += is_here(k) ? 1 : 0;
    }
    return before;
}

TESSERA_INLINE void group::introduce() {
    struct person {
        int process;
        char host[sizeof group_page::rank_slot::host];
    };
    const group_page::rank_slot& mine = page().slots[rank()];
    person me{mine.process.load(), {}};
    std::memcpy(me.host, mine.host, sizeof me.host);
    std::vector<person> all(to_size(size()));
    watched("MPI_Allgather", [&] {
        check(MPI_Allgather(&me, sizeof me, MPI_BYTE, all.data(), sizeof me, MPI_BYTE, comm_), "MPI_Allgather");
    });
    for (int r = 0; r < size() && is_first_here(); ++r) {
        group_page::rank_slot& slot = page().slots[r];
        if (!is_here(r)) {
            std::memcpy(slot.host, all[to_size(r)].host, sizeof me.host);
            slot.process.store(all[to_size(r)].process);
        }
    }
    wait_for_all();
}

TESSERA_INLINE void group::wait_for_all() {
    watched("MPI_Barrier", [&] { check(MPI_Barrier(comm_), "MPI_Barrier"); });
}

TESSERA_INLINE void* group::take_page() {
    if (ranks_here().size() > 1) {
        return take(first_here(), sizeof(group_page));
    }
    void* const page = mmap(nullptr, sizeof(group_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        throw error("tessera: no memory for what ranks know of each other; end other programs");
    }
    ++made_;     // as on other nodes
    return page; // until the process ends
}

TESSERA_INLINE void* group::take(int owner, index_t bytes) {
    void* taken = nullptr;
    watched("sharing memory (MPI_Win_allocate_shared)", [&] { taken = take_unwatched(owner, bytes); });
    return taken;
}

TESSERA_INLINE void* group::take_unwatched(int owner, index_t bytes) {
    const index_t room = (bytes > 0 ? bytes : 1) + arena_alignment;
    MPI_Info how = MPI_INFO_NULL;
    check(MPI_Info_create(&how), "MPI_Info_create");
    MPI_Info_set(how, "alloc_shared_noncontig", "true"); // pages of its own for each rank
    void* mine = nullptr;
    piece made{MPI_WIN_NULL, nullptr, bytes, made_++};
    const bool has_owner = is_here(owner);
    const int gives = has_owner ? owner : first_here();
    const int code = MPI_Win_allocate_shared(rank() == gives ? static_cast<MPI_Aint>(room) : 0, 1, how, node_comm_,
                                             &mine, &made.window);
    MPI_Info_free(&how);
    if (code != MPI_SUCCESS) {
        throw error("tessera: no memory that ranks share for an arena of " + std::to_string(bytes) +
                    " bytes; use smaller batches or more devices, or give /dev/shm more room");
    }
    MPI_Aint size = 0;
    int unit = 0;
    check(MPI_Win_shared_query(made.window, number_here(gives), &size, &unit, &mine), "MPI_Win_shared_query");
    const auto address = reinterpret_cast<std::uintptr_t>(mine);
    constexpr auto alignment = static_cast<std::uintptr_t>(arena_alignment);
    made.memory = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
    if (rank() == gives && has_owner) { // of other nodes' arenas only what is written takes memory
        std::memset(made.memory, 0, to_size(bytes));
    }
    check(MPI_Barrier(node_comm_), "MPI_Barrier");
    const lock while_it_changes(mutex_);
    pieces_.push_back(made);
    return made.memory;
}

} // namespace tessera::mpi::detail

namespace tessera::mpi {

TESSERA_INLINE environment::environment(int& argc, char**& argv, double patience) : dog_(patience) {
    int there = 0;
    MPI_Initialized(&there);
    if (there == 0) {
        int given = 0;
        launcher_.watch();
        dog_.rename(tessera::ranks::start_name);
        dog_.run(
            "MPI_Init_thread", [] { return waiting(true); },
            [&] { detail::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given), "MPI_Init_thread"); });
        dog_.rename("ts-mpi");
        mine_ = true;
        if (given < MPI_THREAD_FUNNELED) {
            throw error("tessera: this MPI allows one thread in a process, and devices are threads");
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

TESSERA_INLINE environment::~environment() {
    if (mine_) {
        watched("MPI_Finalize", [] {
            // MPICH over TCP: who ends first waits in its process manager, and others for what it sends no more.
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Finalize();
        });
        launcher_.over();
    }
}

TESSERA_INLINE std::string environment::waiting(bool starting) {
    const std::string whom = tessera::ranks::who_is_waited_for(starting);
    for (const char* const name : tessera::ranks::rank_variables) {
        if (const char* const value = std::getenv(name); value != nullptr) {
            return std::string(" on rank ") + value + ", which waits for the others" +
                   (whom.empty() ? "" : " (" + whom + ")") + ",";
        }
    }
    return "";
}

TESSERA_INLINE local_devices ranks(const environment& mpi, const ranks_options& o) {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm node = MPI_COMM_NULL;
    mpi.watched("MPI_Comm_split_type", [&] {
        detail::check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
        MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
        if (o.ranks_of_node > 0) {
            detail::check(MPI_Comm_split(all, mpi.rank() / o.ranks_of_node, mpi.rank(), &node), "MPI_Comm_split");
        } else {
            detail::check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, mpi.rank(), MPI_INFO_NULL, &node),
                          "MPI_Comm_split_type");
        }
    });
    return local_devices(owned<process_group>(new detail::group(all, node, mpi.rank(), mpi.size(), o)));
}

} // namespace tessera::mpi

#include "tessera/base/end_header.inl"
