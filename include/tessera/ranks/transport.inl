// SPDX-License-Identifier: Apache-2.0
// Bodies of transport.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/transport.hpp"

namespace tessera::mpi::detail {

TESSERA_INLINE transport::transport(MPI_Comm between, process_group& group, mail_office& office)
    : comm_(between), group_(group), office_(office) {
    std::vector<int> place(to_size(group.nodes()), 0); // how many of the node come before
    std::vector<std::vector<int>> members(place.size());
    int mine = 0;
    for (int r = 0; r < group.size(); ++r) {
        std::vector<int>& of = members[to_size(group.node_of(r))];
        mine = r == group.rank() ? static_cast<int>(of.size()) : mine;
        of.push_back(r);
    }
    links_.resize(members.size());
    for (std::size_t n = 0; n < members.size(); ++n) {
        links_[n].peer = members[n][to_size(mine) % members[n].size()];
    }
}

TESSERA_INLINE void transport::start() {
    hear_of_all();
    if (pthread_create(&thread_, nullptr, &sit, this) != 0) {
        throw error("tessera: the system has no thread that writes to other nodes; end other programs");
    }
    started_ = true;
}

TESSERA_INLINE void transport::stop() {
    if (started_) {
        stop_.store(true);
        wake();
        pthread_join(thread_, nullptr);
        started_ = false;
    }
    pthread_mutex_destroy(&mutex_);
    pthread_mutex_destroy(&packing_);
}

TESSERA_INLINE void transport::post(const remote_write& l, std::uint64_t value, const run_report* report) {
    job j;
    j.what = &l;
    j.value = value;
    if (report != nullptr) {
        j.report = group_.place_of(report);
        j.found[0] = report->found();
    }
    j.priority = l.priority;
    pthread_mutex_lock(&mutex_);
    put(links_[to_size(l.node)], j);
    pthread_mutex_unlock(&mutex_);
    wake();
}

TESSERA_INLINE void transport::post_barrier() {
    const group_page::rank_slot& mine = group_.page().slots[group_.rank()];
    job j;
    j.barrier = mine.barriers.load(std::memory_order_relaxed);
    const auto what = static_cast<barrier_point>(mine.posts[(j.barrier - 1) % 2].what.load(std::memory_order_relaxed));
    j.is_barrier = what != barrier_point::begin_run && what != barrier_point::end_run;
    if (const run_report* const two = group_.reports(); two != nullptr) {
        j.report = group_.place_of(two);
        j.found[0] = two[0].found();
        j.found[1] = two[1].found();
    }
    pthread_mutex_lock(&mutex_);
    for (link& l : links_) {
        if (!is_own(l)) {
            put(l, j);
        }
    }
    pthread_mutex_unlock(&mutex_);
    wake();
}

TESSERA_INLINE void transport::withdraw() {
    pthread_mutex_lock(&packing_);
    pthread_mutex_lock(&mutex_);
    for (link& l : links_) {
        if (group_.failed()) {
            l.jobs.clear();
        }
    }
    pthread_mutex_unlock(&mutex_);
    pthread_mutex_unlock(&packing_);
}

TESSERA_INLINE void* transport::sit(void* where) {
    static_cast<transport*>(where)->serve();
    return nullptr;
}

TESSERA_INLINE void transport::put(link& l, const job& j) {
    auto place = l.jobs.end();
    while (!j.is_barrier && place != l.jobs.begin() && !(place - 1)->is_barrier && (place - 1)->priority > j.priority) {
        --place;
    }
    l.jobs.insert(place, j);
}

TESSERA_INLINE void transport::hear_of_all() {
    for (int r = 0; r < group_.size(); ++r) {
        if (!group_.is_here(r)) {
            group_.page().slots[r].heard.store(nanoseconds_now());
        }
    }
}

TESSERA_INLINE void transport::serve() {
    index_t last_beat = 0;
    index_t stop_since = 0;
    index_t idle_since = nanoseconds_now();
    bool told_failure = false;
    prctl(PR_SET_TIMERSLACK, 1000); // ns
    for (;;) {
        bool busy = take_in();
        busy = send_jobs() || busy;
        const index_t now = nanoseconds_now();
        if (now - last_beat > beat_every) {
            last_beat = now;
            for (link& l : links_) {
                if (!is_own(l)) {
                    send_beat(l);
                }
            }
        }
        if (!told_failure && group_.page().failed.load(std::memory_order_acquire) == 2) {
            told_failure = true;
            for (link& l : links_) {
                if (!is_own(l)) {
                    send_failure(l);
                }
            }
        }
        if (stop_.load(std::memory_order_relaxed)) {
            stop_since = stop_since == 0 ? now : stop_since;
            if (is_all_gone() || (group_.failed() && now - stop_since > 300'000'000)) {
                return;
            }
        }
        // A yield would give a thread that computes the core for milliseconds; who sleeps has it back at once.
        idle_since = busy ? now : idle_since;
        if (now - idle_since > 10'000) {
            rest(idle_since);
        }
    }
}

TESSERA_INLINE void transport::rest(index_t idle_since) {
    const index_t part = (nanoseconds_now() - idle_since) / 16;
    if (part < long_rest) {
        tessera::detail::nap(idle_since);
        return;
    }
    // By how long, not until when: the kernel's clock may not be the one that nanoseconds_now() reads.
    const timespec at_most{0, std::min(part, longest_rest)};
    rests_.store(true);
    if (news_.load() == news_seen_) {
        syscall(SYS_futex, &news_, FUTEX_WAIT_PRIVATE, news_seen_, &at_most, nullptr, 0);
    }
    rests_.store(false);
    news_seen_ = news_.load();
}

TESSERA_INLINE void transport::wake() {
    ++news_;
    if (rests_.load()) {
        syscall(SYS_futex, &news_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

TESSERA_INLINE bool transport::is_all_gone() {
    pthread_mutex_lock(&mutex_);
    bool gone = group_.failed() || coming_.empty();
    for (const link& l : links_) {
        gone = gone && (group_.failed() || l.jobs.empty()) && l.under_way.empty();
    }
    pthread_mutex_unlock(&mutex_);
    return gone;
}

TESSERA_INLINE bool transport::send_jobs() {
    bool busy = false;
    for (link& l : links_) {
        busy = clear_away(l) || busy;
        while (l.bytes_under_way < most_under_way) {
            job next;
            pthread_mutex_lock(&packing_);
            pthread_mutex_lock(&mutex_);
            const bool is_there = !l.jobs.empty() && may_go(l, l.jobs.front());
            if (is_there) {
                next = l.jobs.front();
                l.jobs.pop_front();
            }
            pthread_mutex_unlock(&mutex_);
            if (is_there) {
                next.what != nullptr ? send_write(l, next) : send_barrier(l, next);
            }
            pthread_mutex_unlock(&packing_);
            if (!is_there) {
                break;
            }
            busy = true;
        }
    }
    arrive_where_sent();
    return busy;
}

TESSERA_INLINE bool transport::may_go(const link& l, const job& j) {
    return j.priority < 0 || l.urgent_under_way == 0 || l.urgent_under_way + j.what->bytes() <= most_urgent_under_way;
}

TESSERA_INLINE void transport::send_write(link& l, const job& j) {
    const remote_write& what = *j.what;
    header h;
    h.rank = group_.rank();
    h.rows = static_cast<std::uint32_t>(what.rows.size());
    h.signal = static_cast<std::uint16_t>(what.then);
    h.is_urgent = j.priority >= 0 ? 1 : 0;
    l.urgent_under_way += j.priority >= 0 ? what.bytes() : 0;
    if (what.then == remote_write::signal::list) {
        h.number[0] = static_cast<std::uint64_t>(what.list);
    } else {
        h.number[0] = what.flag.piece;
        h.number[1] = what.flag.offset;
    }
    h.number[2] = j.value;
    h.report = j.report;
    h.found[0] = j.found[0];
    std::vector<std::byte> bytes(sizeof h + what.rows.size() * sizeof(wire_rows) + to_size(what.bytes()));
    std::memcpy(bytes.data(), &h, sizeof h);
    std::byte* to = bytes.data() + sizeof h;
    for (const remote_rows& r : what.rows) {
        const wire_rows w{r.to, r.bytes, r.stride, r.count};
        std::memcpy(to, &w, sizeof w);
        to += sizeof w;
    }
    for (const remote_rows& r : what.rows) {
        for (index_t i = 0; i < r.count; ++i) {
            std::memcpy(to, r.from + i * r.stride, to_size(r.bytes));
            to += r.bytes;
        }
    }
    send(l, std::move(bytes));
}

TESSERA_INLINE void transport::send_barrier(link& l, const job& j) {
    const group_page::rank_slot& mine = group_.page().slots[group_.rank()];
    const group_page::rank_slot::post& p = mine.posts[(j.barrier - 1) % 2];
    header h;
    h.what = kind::barrier;
    h.rank = group_.rank();
    h.number[0] = p.what.load(std::memory_order_relaxed);
    h.number[1] = p.number.load(std::memory_order_relaxed);
    h.number[2] = j.barrier;
    h.report = j.report;
    h.found[0] = j.found[0];
    h.found[1] = j.found[1];
    send_header(l, h);
    ++l.barriers_sent;
}

TESSERA_INLINE void transport::send_beat(link& l) {
    const group_page::rank_slot& mine = group_.page().slots[group_.rank()];
    header h;
    h.what = kind::beat;
    h.rank = group_.rank();
    h.number[0] = mine.step.load(std::memory_order_relaxed);
    send_header(l, h);
}

TESSERA_INLINE void transport::send_failure(link& l) {
    header h;
    h.what = kind::failure;
    h.rank = group_.rank();
    std::vector<std::byte> bytes(sizeof h + sizeof group_.page().words);
    std::memcpy(bytes.data(), &h, sizeof h);
    std::memcpy(bytes.data() + sizeof h, group_.page().words, sizeof group_.page().words);
    send(l, std::move(bytes));
}

TESSERA_INLINE void transport::send_header(const header& h, int rank) {
    std::vector<std::byte> bytes(sizeof h);
    std::memcpy(bytes.data(), &h, sizeof h);
    send(links_[to_size(group_.node_of(rank))], std::move(bytes), rank);
}

TESSERA_INLINE void transport::send(link& l, std::vector<std::byte> bytes, int rank) {
    l.under_way.push_back({MPI_REQUEST_NULL, std::move(bytes)});
    sent& s = l.under_way.back();
    l.bytes_under_way += static_cast<index_t>(s.bytes.size());
    if (MPI_Isend(s.bytes.data(), static_cast<int>(s.bytes.size()), MPI_BYTE, rank, tag, comm_, &s.request) !=
        MPI_SUCCESS) {
        s.request = MPI_REQUEST_NULL;
        group_.fail("writing to " + group_.name_of(l.peer) + " has failed (MPI_Isend)");
    }
}

TESSERA_INLINE bool transport::clear_away(link& l) {
    bool any = false;
    while (!l.under_way.empty()) {
        int done = 1;
        if (MPI_Test(&l.under_way.front().request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            done = 1;
            group_.fail("writing to " + group_.name_of(l.peer) + " has failed (MPI_Test)");
        }
        if (done == 0) {
            break;
        }
        l.bytes_under_way -= static_cast<index_t>(l.under_way.front().bytes.size());
        l.under_way.pop_front();
        any = true;
    }
    return any;
}

TESSERA_INLINE void transport::arrive_where_sent() {
    std::uint64_t sent_to_all = ~std::uint64_t{0};
    for (const link& l : links_) {
        sent_to_all = is_own(l) || l.barriers_sent > sent_to_all ? sent_to_all : l.barriers_sent;
    }
    if (sent_to_all > arrived_) {
        arrived_ = sent_to_all;
        office_.has_arrived(group_.rank(), arrived_);
    }
}

TESSERA_INLINE bool transport::take_in() {
    bool any = false;
    while (coming_.size() < most_coming) {
        int there = 0;
        coming next;
        MPI_Message which = MPI_MESSAGE_NULL;
        MPI_Status status;
        if (MPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &there, &which, &status) != MPI_SUCCESS) {
            group_.fail("reading what other nodes write has failed (MPI_Improbe)");
            return any;
        }
        if (there == 0) {
            break;
        }
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        next.source = status.MPI_SOURCE;
        next.bytes.resize(to_size(count));
        coming_.push_back(std::move(next));
        coming& mine = coming_.back();
        if (MPI_Imrecv(mine.bytes.data(), count, MPI_BYTE, &which, &mine.request) != MPI_SUCCESS) {
            group_.fail("reading what " + group_.name_of(mine.source) + " writes has failed (MPI_Imrecv)");
            coming_.pop_back();
            return any;
        }
    }
    for (std::size_t i = 0; i < coming_.size();) {
        bool is_first = true; // of its rank: in the order in which that has sent them
        for (std::size_t k = 0; k < i; ++k) {
            is_first = is_first && coming_[k].source != coming_[i].source;
        }
        int done = 0;
        if (is_first && MPI_Test(&coming_[i].request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            group_.fail("reading what " + group_.name_of(coming_[i].source) + " writes has failed (MPI_Test)");
        }
        if (done == 0) {
            ++i;
            continue;
        }
        in_.swap(coming_[i].bytes);
        coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(i));
        take();
        any = true;
    }
    return any;
}

TESSERA_INLINE void transport::take() {
    header h;
    std::memcpy(&h, in_.data(), sizeof h);
    group_page& page = group_.page();
    group_page::rank_slot& slot = page.slots[h.rank];
    slot.heard.store(nanoseconds_now(), std::memory_order_relaxed);
    switch (h.what) {
    case kind::remote_write:
        take_write(h);
        break;
    case kind::taken:
        links_[to_size(group_.node_of(h.rank))].urgent_under_way -= static_cast<index_t>(h.number[0]);
        break;
    case kind::barrier: {
        take_report(h, 2);
        group_page::rank_slot::post& p = slot.posts[(h.number[2] - 1) % 2];
        p.what.store(h.number[0], std::memory_order_relaxed);
        p.number.store(h.number[1], std::memory_order_relaxed);
        slot.barriers.store(h.number[2], std::memory_order_relaxed);
        office_.has_arrived(h.rank, h.number[2]);
        break;
    }
    case kind::beat:
        slot.step.store(h.number[0], std::memory_order_relaxed);
        break;
    case kind::failure:
        group_.fail(std::string(reinterpret_cast<const char*>(in_.data() + sizeof h)));
        break;
    }
}

TESSERA_INLINE void transport::take_report(const header& h, int count) {
    std::byte* const where = h.report == shared_place{} ? nullptr : office_.address_of(h.report);
    for (int i = 0; i < count && where != nullptr; ++i) {
        reinterpret_cast<run_report*>(where)[i].take(h.found[i]);
    }
}

TESSERA_INLINE void transport::take_write(const header& h) {
    const std::byte* rows = in_.data() + sizeof h;
    const std::byte* from = rows + h.rows * sizeof(wire_rows);
    for (std::uint32_t k = 0; k < h.rows; ++k, rows += sizeof(wire_rows)) {
        wire_rows w;
        std::memcpy(&w, rows, sizeof w);
        std::byte* const to = office_.address_of(w.to);
        if (to == nullptr) {
            group_.fail("rank " + std::to_string(h.rank) + " has written to memory that rank " +
                        std::to_string(group_.rank()) + " does not have; all ranks must take the same steps");
            return;
        }
        for (std::int64_t i = 0; i < w.count; ++i) {
            std::memcpy(to + i * w.stride, from, to_size(w.bytes));
            from += w.bytes;
        }
    }
    if (h.is_urgent != 0) {
        header back;
        back.what = kind::taken;
        back.rank = group_.rank();
        back.number[0] = static_cast<std::uint64_t>(from - rows);
        send_header(back, h.rank);
    }
    take_report(h, 1);
    switch (static_cast<remote_write::signal>(h.signal)) {
    case remote_write::signal::none:
        break;
    case remote_write::signal::list:
        group_.page().lists[h.number[0]].value.store(static_cast<int>(h.number[2]), std::memory_order_release);
        break;
    case remote_write::signal::flag:
        if (std::byte* const flag = office_.address_of({h.number[0], h.number[1]}); flag != nullptr) {
            reinterpret_cast<std::atomic<std::uint64_t>*>(flag)->store(h.number[2], std::memory_order_release);
        }
        break;
    }
}

} // namespace tessera::mpi::detail

#include "tessera/base/end_header.inl"
