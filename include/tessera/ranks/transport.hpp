// SPDX-License-Identifier: Apache-2.0
// Remote writes between nodes over MPI: a thread of every process sends them, and takes in those of others, since MPI
// may make no progress by itself.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
#include "tessera/ranks/mpi_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::mpi::detail {

/// What the thread asks of the group that it belongs to.
class mail_office {
public:
    virtual ~mail_office() = default;
    /// Where a place lies in this process; null where there is none.
    virtual std::byte* address_of(shared_place) = 0;
    /// A rank has come to its barrier number `count`, and all that it has sent before is here.
    virtual void has_arrived(int rank, std::uint64_t count) = 0;
};

/// The link of one process to those of other nodes. Process number k of a node writes to number k of another, or, where
/// that has fewer, to number k modulo their count. MPI keeps the order of what one process sends to another, so that
/// what is posted before a barrier is taken in before it.
class transport {
public:
    transport(MPI_Comm between, process_group& group, mail_office& office);
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    ~transport() { stop(); }

    /// Throws tessera::error where the system has no thread for it.
    void start();
    /// When what was posted has gone, or after a failure when others know of it.
    void stop();

    void post(const remote_write& l, std::uint64_t value, const run_report* report);
    /// This process has come to a barrier: to be told to every node when what was posted has been sent; at the begin
    /// and end of a run, when what was posted without a priority has, for transfers may go on beside the next run.
    void post_barrier();

    /// After a failure: remote writes that have not been sent are not any more. Else all have gone.
    void withdraw();

private:
    enum class kind : std::uint32_t { remote_write, barrier, beat, failure, taken };

    /// Before every message.
    struct header {
        kind what = kind::remote_write;
        std::int32_t rank = 0;
        std::uint32_t rows = 0;
        std::uint16_t signal = 0;
        std::uint16_t is_urgent = 0; ///< it is told when it has been taken in
        /// List, value; or piece, offset, value; or of a barrier what, number, count; or of a beat the step; or the
        /// bytes that have been taken in.
        std::uint64_t number[3] = {};
        shared_place report;
        run_report::findings found[2];
    };
    struct wire_rows {
        shared_place to;
        std::int64_t bytes = 0;
        std::int64_t stride = 0;
        std::int64_t count = 0;
    };
    struct job {
        const remote_write* what = nullptr; ///< null: a barrier
        std::uint64_t value = 0;
        std::uint64_t barrier = 0;
        int priority = -1;
        bool is_barrier = false; ///< nothing passes it
        shared_place report;
        run_report::findings found[2];
    };
    struct sent {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> bytes;
    };
    struct coming {
        int source = 0; ///< rank
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> bytes;
    };
    struct link {
        int peer = 0; ///< rank
        std::deque<job> jobs;
        std::deque<sent> under_way;
        index_t bytes_under_way = 0;
        index_t urgent_under_way =
            0; ///< bytes of remote writes with a priority that have not been taken in, as far as is known
        std::uint64_t barriers_sent = 0;
    };
    static constexpr int tag = 7;
    /// Bytes: a beat that waits behind them on a slow link must not come too late.
    static constexpr index_t most_under_way = index_t{1} << 19;
    static constexpr std::size_t most_coming = 16; ///< remote writes
    /// Bytes with a priority, two remote writes: what the system's buffers have taken nobody overtakes, neither what is
    /// more urgent nor a barrier.
    static constexpr index_t most_urgent_under_way = index_t{112} << 10;
    static constexpr index_t beat_every = 500'000'000; ///< ns
    static constexpr index_t long_rest = 400'000;      ///< ns, from which on what is posted ends it
    static constexpr index_t longest_rest = 2'000'000;

    static void* sit(void* where);

    /// Before what is less urgent.
    static void put(link& l, const job& j);

    void hear_of_all();

    void serve();

    /// Sleeps as other waits do; after a long time without anything to do for longer, but not after something was
    /// posted: a look at what MPI has takes tens of microseconds of a core, which is to compute meanwhile.
    void rest(index_t idle_since);
    /// After something was posted.
    void wake();

    bool is_own(const link& l) const { return &l == &links_[to_size(group_.node())]; }
    bool is_all_gone();

    // ---- out --------------------------------------------------------------------------------------------------------

    bool send_jobs();

    static bool may_go(const link& l, const job& j);

    void send_write(link& l, const job& j);
    void send_barrier(link& l, const job& j);
    void send_beat(link& l);
    void send_failure(link& l);
    void send_header(link& l, const header& h) { send_header(h, l.peer); }
    void send_header(const header& h, int rank);
    void send(link& l, std::vector<std::byte> bytes) { send(l, std::move(bytes), l.peer); }
    void send(link& l, std::vector<std::byte> bytes, int rank);
    bool clear_away(link& l);
    /// Counts this process in where every node has been told.
    void arrive_where_sent();

    // ---- in ---------------------------------------------------------------------------------------------------------

    /// Remote writes that come, as far as they are there: nothing waits for a long one, least of all what is to be
    /// sent.
    bool take_in();

    void take();
    void take_report(const header& h, int count);
    void take_write(const header& h);

    MPI_Comm comm_;
    process_group& group_;
    mail_office& office_;
    std::vector<link> links_; ///< by node; that of the own one stays empty
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t packing_ = PTHREAD_MUTEX_INITIALIZER; ///< while a remote write that was posted is read
    std::atomic<std::uint32_t> news_{0};                  ///< how often something was posted
    std::uint32_t news_seen_ = 0;                         ///< at the end of the last long rest
    std::atomic<bool> rests_{false};
    pthread_t thread_{};
    bool started_ = false;
    std::uint64_t arrived_ = 0;
    std::atomic<bool> stop_{false};
    std::deque<coming> coming_;
    std::vector<std::byte> in_; ///< what is taken in
};

} // namespace tessera::mpi::detail

#ifndef TESSERA_COMPILED
#include "tessera/ranks/transport.inl"
#endif

#include "tessera/base/end_header.inl"
